"""Tables in Markdown, for the scripts that print results."""


def print_table(head, rows):
    """Prints `rows` below `head`. A bar in a cell would end the cell, so it becomes a slash."""
    print(line(head))
    print("|" + "---|" * len(head))
    for row in rows:
        print(line(row))


def line(cells):
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
