"""Child processes that never outlive pflow."""
