"""What the checks of the source have in common: their command line, and made-up trees that show each rule at work."""

import os
import sys
import tempfile


def self_test(check, cases):
    """Each case is a tree, path to text, and what check finds in it: None, or (path, line, a part of the message)."""
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                    stream.write(text)
            found = check(root)
        right = (not found if expected is None else
                 len(found) == 1 and found[0][:2] == expected[:2] and expected[2] in found[0][2])
        if not right:
            print(f"self-test: {files}: expected {expected}, found {found}")
            return 1
    print(f"self-test: {len(cases)} trees judged as expected")
    return 0


def run(usage, check, test, arguments):
    """The exit status: test() with --self-test, else 1 if check finds anything in the tree that is named."""
    if arguments == ["--self-test"]:
        return test()
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print(usage, file=sys.stderr)
        return 2
    found = check(arguments[0])
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    return 1 if found else 0
