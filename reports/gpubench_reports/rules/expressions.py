"""Arithmetic in data files: numbers, names, `row.key`, comparisons and a few functions; no more."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARE = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
_FUNCTIONS = {"ceil": math.ceil, "min": min, "max": max, "sqrt": math.sqrt}


class Expression:
    """One expression, checked when made. ValueError: what in it is no arithmetic."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            raise ValueError(f"{text!r} is no expression") from None
        self._check(self._tree)

    def names(self) -> set[str]:
        """The bare names, and those before a dot."""
        called = {id(n.func) for n in ast.walk(self._tree) if isinstance(n, ast.Call)}
        return {
            n.id for n in ast.walk(self._tree) if isinstance(n, ast.Name) and id(n) not in called
        }

    def value(self, of_name: Callable[[str], Any], of_rows: Mapping[str, Callable[[str], Any]]):
        """`of_name(name)` is a bare name's value, `of_rows[name](key)` that of `name.key`. What
        they raise is passed on; ArithmeticError or ValueError where the figures have no result."""
        return self._value(self._tree, of_name, of_rows)

    def _check(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=int() | float() | str()) | ast.Name():
                pass
            case ast.Attribute(value=ast.Name()):
                pass
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                self._check(left)
                self._check(right)
            case ast.UnaryOp(ast.USub(), operand):
                self._check(operand)
            case ast.BoolOp(ast.And(), values):
                for value in values:
                    self._check(value)
            case ast.Compare(left, [op], [right]) if type(op) in _COMPARE:
                self._check(left)
                self._check(right)
            case ast.Call(ast.Name(id=name), arguments, []) if name in _FUNCTIONS:
                for argument in arguments:
                    self._check(argument)
            case _:
                part = ast.unparse(node)
                raise ValueError(f"{self.text!r}: {part!r} is not allowed in an expression")

    def _value(self, node: ast.expr, of_name, of_rows) -> Any:
        def value(part: ast.expr) -> Any:
            return self._value(part, of_name, of_rows)

        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.Name(id=name):
                return of_name(name)
            case ast.Attribute(value=ast.Name(id=row), attr=key):
                return of_rows[row](key)
            case ast.BinOp(left, op, right):
                return _BINARY[type(op)](value(left), value(right))
            case ast.UnaryOp(_, operand):
                return -value(operand)
            case ast.BoolOp(_, values):
                return all(value(part) for part in values)
            case ast.Compare(left, [op], [right]):
                return _COMPARE[type(op)](value(left), value(right))
            case ast.Call(ast.Name(id=name), arguments):
                return _FUNCTIONS[name](*(value(argument) for argument in arguments))
        raise AssertionError(node)
