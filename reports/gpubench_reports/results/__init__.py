"""Result files, and what lies beside them, read and checked: tables of rows and their axes."""
