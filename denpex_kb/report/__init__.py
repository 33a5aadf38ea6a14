"""What stands on a diagnosis: comparing two runs, sharing one without names and secrets, drafting an entry from one."""
