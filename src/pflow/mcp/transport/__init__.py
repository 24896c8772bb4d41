"""What carries messages: processes, sockets and HTTP."""
