#!/usr/bin/env python3
"""Print the greatest common divisor of the whole numbers given as arguments."""

import math
import sys


def main(arguments: list[str]) -> int:
    try:
        numbers = [int(argument) for argument in arguments]
    except ValueError as error:
        print(f"not a whole number: {error}", file=sys.stderr)
        return 2
    if len(numbers) < 2:
        print("give two or more whole numbers", file=sys.stderr)
        return 2
    print(math.gcd(*numbers))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
