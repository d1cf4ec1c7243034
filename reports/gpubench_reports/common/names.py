"""What files, and what is written into them, can be called."""


def is_utf8(text: str) -> bool:
    """Whether the text can be written down: names of files and of JSON may hold half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_file_name(text: str) -> bool:
    """Whether a file of a folder can be called that."""
    is_one = is_utf8(text) and text not in ("", ".", "..") and not set(text) & {"/", "\0"}
    return is_one and len(text.encode()) <= 255
