"""Commands about places, and the option that names one."""
