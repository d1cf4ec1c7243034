"""The tables of the index."""

import sqlite3

# A different number: the index is of another version of this program, and is rebuilt.
VERSION = 6
_SCHEMA = """
create table night(
  machine text, number integer, date text, fingerprint text,
  state text,    -- 'ok', 'running', 'incomplete', 'invalid', 'duplicate'
  note text,     -- why it is not ok, or what is lacking
  health text,   -- JSON: what was known of the machine before the night
  gpu text,      -- JSON: what identifies the GPU
  git_commit text, verdict text,
  primary key(machine, number)) without rowid;
create table series(
  id integer primary key, machine text, device text, mode text, name text,
  unique(machine, device, mode, name));
create table environment(
  id integer primary key, device text, device_title text, mode text, driver text, cuda text,
  compiler text, flags text,
  unique(device, device_title, mode, driver, cuda, compiler, flags));
create table value(
  series integer, night integer, environment integer,
  seconds real,   -- the night's value: the median of its processes' medians
  first real, rerun real, cycles real, clock_hz real, power_w real, temperature_c real,
  throttled real, -- share of its processes; null if nothing observed it
  limits text,    -- the driver's words
  processes integer, within real, medians text,
  primary key(series, night)) without rowid;
create table unsound( -- a row that ran, in a night that has no sound time of it
  series integer, night integer, environment integer, clock_hz real, power_w real,
  temperature_c real, throttled real,
  primary key(series, night)) without rowid;
create table problem(
  machine text, number integer, device text, mode text, name text, problem text,
  primary key(machine, number, device, mode, name)) without rowid;
create table file(
  sha256 text primary key, machine text, number integer, name text) without rowid;
create table quarantined(path text primary key, why text) without rowid;
"""


def recreate(database: sqlite3.Connection) -> None:
    tables = database.execute("select name from sqlite_master where type = 'table'").fetchall()
    for (name,) in tables:
        database.execute(f'drop table "{name}"')
    for statement in filter(str.strip, _SCHEMA.split(";\n")):
        database.execute(statement)
    database.execute(f"pragma user_version = {VERSION}")
