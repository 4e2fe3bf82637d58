"""Tables in Markdown that are also legible as they are."""


def markdown(heads, lines):
    """All columns have their entries on the right but the first."""
    widths = [max(len(line[column]) for line in [heads, *lines]) for column in range(len(heads))]

    def row(cells):
        padded = [cell.rjust(width) if column else cell.ljust(width)
                  for column, (cell, width) in enumerate(zip(cells, widths))]  # fmt: skip
        return f"| {' | '.join(padded)} |"

    rule = [f"{'-' * width}{':' if column else '-'}" for column, width in enumerate(widths)]
    return "\n".join([row(heads), f"|-{'|-'.join(rule)}|", *map(row, lines)])
