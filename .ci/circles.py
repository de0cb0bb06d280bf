#!/usr/bin/env python3
"""Fails if source files of one crate or Python package import each other in a circle.

    .ci/circles.py [ROOT]

An arrow goes from a file to the file that defines what it imports; re-exports are followed. A Rust module may use items of
the modules that contain it: it is a part of them. Tests are left out, since `mod tests` imports the file that it tests.
"""

import ast
import pathlib
import re
import sys

SKIPPED = {"target", "node_modules", ".git", ".venv", "venv", "__pycache__", "tests", "examples", "benches", "templates"}
USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
PATH = re.compile(r"(?<![\w:$])((?:crate|self|super(?:::super)*)(?:::\w+)+)")
TEST_NAMES = re.compile(r"(^|_)(tests?|fixture|synthetic\w*)$")


def leaves(tree, prefix=()):
    """The paths of a use tree, each a tuple of segments, with the name that it is imported as."""
    tree = tree.strip()
    if tree.startswith("{"):
        depth, start = 0, 1
        for at, char in enumerate(tree):
            depth += (char == "{") - (char == "}")
            if (char == "," and depth == 1) or depth == 0:
                if tree[start:at].strip():
                    yield from leaves(tree[start:at], prefix)
                start = at + 1
        return
    head, separator, rest = tree.partition("::")
    if separator:
        yield from leaves(rest, prefix + (head.strip(),))
    else:
        name, _, alias = head.partition(" as ")
        path = prefix if name.strip() == "self" else prefix + (name.strip(),)
        yield path, (alias or path[-1] if path else name).strip()


def code_of(text):
    """Without comments, and without the inline test module at the end."""
    text = text.split("#[cfg(test)]\nmod tests {")[0]
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


class Crate:
    def __init__(self, root):
        self.files, self.imports = {}, {}
        for file in sorted(root.rglob("*.rs")):
            parts = list(file.relative_to(root).with_suffix("").parts)
            if SKIPPED & set(parts) or any(TEST_NAMES.search(part) for part in parts):
                continue
            if parts[-1] in ("mod", "lib", "main"):
                parts.pop()
            # A program beside its library starts from the same root, and nothing imports it.
            self.files.setdefault(tuple(parts), file)
        self.code = {module: code_of(file.read_text()) for module, file in self.files.items()}
        for module, code in self.code.items():
            named = {}
            for use in USE.finditer(code):
                for path, alias in leaves(use.group(2)):
                    named[alias] = path
            self.imports[module] = named

    def absolute(self, module, path):
        if not path or path[0] == "crate":
            return path[1:] if path else None
        base = module
        if path[0] == "self":
            return base + path[1:]
        if path[0] == "super":
            while path and path[0] == "super":
                base, path = base[:-1], path[1:]
            return base + path
        # A child module, named without `self`.
        return base + path if base + path[:1] in self.files else None

    def defining(self, path, steps=8):
        """The module whose file defines this path."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.files:
                module, rest = path[:length], path[length:]
                break
        else:
            return None
        reexport = self.imports[module].get(rest[0]) if rest else None
        target = self.absolute(module, reexport) if reexport else None
        if target and target != path and steps:
            return self.defining(target + rest[1:], steps - 1) or module
        return module

    def arrows(self):
        for module, code in self.code.items():
            paths = [path for use in USE.finditer(code) for path, _ in leaves(use.group(2))]
            paths += [tuple(path.split("::")) for path in PATH.findall(USE.sub("", code))]
            for path in paths:
                target = self.absolute(module, path)
                to = self.defining(target) if target else None
                if to is not None and to != module and module[: len(to)] != to:
                    yield str(self.files[module]), str(self.files[to])


def python_arrows(root):
    files = {f.relative_to(root).with_suffix(""): f for f in root.rglob("*.py") if not SKIPPED & set(f.parts)}
    for name, file in files.items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = name.parents[node.level - 1]
                base = base / node.module.replace(".", "/") if node.module else base
                for to in [base / alias.name for alias in node.names] + [base]:
                    if to in files and to != name:
                        yield str(file), str(files[to])


def circles(arrows):
    """Strongly connected components of two files and more (Tarjan, without recursion)."""
    graph = {}
    for start, end in arrows:
        graph.setdefault(start, set()).add(end)
        graph.setdefault(end, set())
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for start in graph:
        work = [(start, iter(graph[start]))] if start not in index else []
        if work:
            index[start] = low[start] = len(index)
            stack.append(start)
            on_stack.add(start)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    arrows, crates = [], 0
    for manifest in sorted(root.rglob("Cargo.toml")):
        source = manifest.parent / "src"
        if source.is_dir() and not SKIPPED & set(manifest.relative_to(root).parts):
            arrows += Crate(source).arrows()
            crates += 1
    arrows += python_arrows(root)
    found = circles(arrows)
    for component in found:
        print("files that import each other in a circle:")
        within = sorted({(a, b) for a, b in arrows if a in component and b in component})
        print("".join(f"  {a} -> {b}\n" for a, b in within), end="")
    print(f"import circles: {len(found)}, of {len(set(arrows))} arrows between files in {crates} crates")
    sys.exit(bool(found))


main()
