# /// case
# run = "python sweep.py"
# name = "sweep.py"
# form = "traceback"
# truth = "The user's sweep database is locked by another process."
# expect = ["NONE"]
# evidence = "sqlite3.OperationalError: database is locked"
# ///
import sqlite3

first = sqlite3.connect("sweep.db")
first.execute("create table trials (id integer, loss real)")
first.execute("begin exclusive")
second = sqlite3.connect("sweep.db", timeout=1)
second.execute("insert into trials values (1, 0.3)")
