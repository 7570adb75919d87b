"""Mutation operators: for a node of a syntax tree, the nodes that may stand in its place."""

from collections.abc import Callable, Iterator

import libcst as cst
import libcst.matchers as m

__all__ = ["OPERATORS"]

Replacements = Iterator[cst.CSTNode]

#: Operators that are taken for one another: those that a tired engineer confuses.
_SWAPPED: dict[type[cst.CSTNode], tuple[type[cst.CSTNode], ...]] = {
    cst.Add: (cst.Subtract,),
    cst.Subtract: (cst.Add,),
    cst.Multiply: (cst.Add,),
    cst.FloorDivide: (cst.Multiply,),
    cst.Divide: (cst.Multiply,),
    cst.Modulo: (cst.FloorDivide,),
    cst.Power: (cst.Multiply,),
    cst.LeftShift: (cst.RightShift,),
    cst.RightShift: (cst.LeftShift,),
    cst.BitAnd: (cst.BitOr,),
    cst.BitOr: (cst.BitAnd,),
    cst.BitXor: (cst.BitOr,),
    cst.And: (cst.Or,),
    cst.Or: (cst.And,),
    cst.AddAssign: (cst.SubtractAssign,),
    cst.SubtractAssign: (cst.AddAssign,),
    cst.MultiplyAssign: (cst.AddAssign,),
    cst.LeftShiftAssign: (cst.RightShiftAssign,),
    cst.RightShiftAssign: (cst.LeftShiftAssign,),
    cst.BitAndAssign: (cst.BitOrAssign,),
    cst.BitOrAssign: (cst.BitAndAssign,),
    cst.Equal: (cst.NotEqual, cst.GreaterThanEqual),
    cst.NotEqual: (cst.Equal,),
    cst.LessThan: (cst.LessThanEqual, cst.GreaterThanEqual),
    cst.LessThanEqual: (cst.LessThan,),
    cst.GreaterThan: (cst.GreaterThanEqual, cst.LessThanEqual),
    cst.GreaterThanEqual: (cst.GreaterThan,),
    cst.Is: (cst.IsNot,),
    cst.IsNot: (cst.Is,),
    cst.In: (cst.NotIn,),
    cst.NotIn: (cst.In,),
}

_NAMES = {
    "True": "False",
    "False": "True",
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
}

#: Amaranth's conditions, which take values of hardware.
_CONDITION = m.Attribute(value=m.Name("m"), attr=m.Name("If") | m.Name("Elif"))

#: Domains of a module, to which statements are added.
_DOMAIN = m.Attribute(value=m.Attribute(value=m.Name("m"), attr=m.Name("d")))


def _operator(node: cst.CSTNode) -> Replacements:
    """Another operator, arithmetic, of bits or of logic, also of an augmented assignment."""
    assert isinstance(node, cst.BinaryOperation | cst.BooleanOperation | cst.AugAssign)
    if isinstance(node, cst.AugAssign) and m.matches(node.target, _DOMAIN):
        return
    for swapped in _SWAPPED.get(type(node.operator), ()):
        yield node.with_changes(operator=swapped())


def _comparison(node: cst.CSTNode) -> Replacements:
    """Another comparison: its edge moved, or inverted."""
    assert isinstance(node, cst.ComparisonTarget)
    unordered = isinstance(node.comparator, cst.SimpleString | cst.Attribute)
    for swapped in _SWAPPED.get(type(node.operator), ()):
        if swapped is cst.GreaterThanEqual and isinstance(node.operator, cst.Equal) and unordered:
            continue
        yield node.with_changes(operator=swapped())


def _unary(node: cst.CSTNode) -> Replacements:
    """An inversion, a negation or a sign less."""
    assert isinstance(node, cst.UnaryOperation)
    yield node.expression


def _number(node: cst.CSTNode) -> Replacements:
    """One more, one less."""
    assert isinstance(node, cst.Integer)
    value = node.evaluated_value
    for other in (value + 1, value - 1):
        if other >= 0:
            yield cst.Integer(hex(other) if node.value.lower().startswith("0x") else str(other))


def _fraction(node: cst.CSTNode) -> Replacements:
    """Half as much again."""
    assert isinstance(node, cst.Float)
    yield cst.Float(repr(node.evaluated_value * 1.5 or 1.0))


def _name(node: cst.CSTNode) -> Replacements:
    """A truth value, an extreme or a quantifier inverted."""
    assert isinstance(node, cst.Name)
    if node.value in _NAMES:
        yield node.with_changes(value=_NAMES[node.value])


def _bound(node: cst.CSTNode) -> Replacements:
    """A slice that begins or ends elsewhere; bounds that are numbers are changed as such."""
    assert isinstance(node, cst.Slice)
    for side in ("lower", "upper"):
        bound = getattr(node, side)
        if bound is not None and not isinstance(bound, cst.Integer):
            moved = cst.BinaryOperation(_parenthesised(bound), cst.Add(), cst.Integer("1"))
            yield node.with_changes(**{side: moved})


def _condition(node: cst.CSTNode) -> Replacements:
    """A condition inverted: Python's, or Amaranth's."""
    if isinstance(node, cst.If):
        inverted = cst.UnaryOperation(cst.Not(), _parenthesised(node.test))
        yield node.with_changes(test=inverted, whitespace_before_test=cst.SimpleWhitespace(" "))
    elif isinstance(node, cst.IfExp):
        yield node.with_changes(body=node.orelse, orelse=node.body)
    elif isinstance(node, cst.Call) and m.matches(node.func, _CONDITION):
        target = cst.ComparisonTarget(cst.Equal(), cst.Integer("0"))
        turned_value = cst.Comparison(_parenthesised(node.args[0].value), [target])
        yield node.with_changes(args=[cst.Arg(turned_value)])


def _order(node: cst.CSTNode) -> Replacements:
    """The parts of a ``Cat``, or what a ``Mux`` chooses from, the other way round."""
    assert isinstance(node, cst.Call)
    if not isinstance(node.func, cst.Name):
        return
    values = [arg.value for arg in node.args]
    if node.func.value == "Cat" and len(values) > 1:
        yield node.with_changes(args=[cst.Arg(value) for value in reversed(values)])
    if node.func.value == "Mux":
        yield node.with_changes(args=[cst.Arg(values[at]) for at in (0, 2, 1)])


def _statement(node: cst.CSTNode) -> Replacements:
    """A statement less: a call, an error, or an assignment that is not a name's first."""
    assert isinstance(node, cst.Expr | cst.AugAssign | cst.Assign | cst.Raise)
    if isinstance(node, cst.Expr) and not isinstance(node.value, cst.Call):
        return
    if isinstance(node, cst.Assign) and not all(
        isinstance(target.target, cst.Attribute | cst.Subscript) for target in node.targets
    ):
        return
    if isinstance(node, cst.Raise) and node.exc is None:
        return
    yield cst.Pass()


def _element(node: cst.CSTNode) -> Replacements:
    """A statement less in a list that is added to a domain."""
    assert isinstance(node, cst.AugAssign)
    if isinstance(node.value, cst.List) and m.matches(node.target, _DOMAIN):
        elements = node.value.elements
        for at in range(len(elements)) if len(elements) > 1 else ():
            rest = [*elements[:at], *elements[at + 1 :]]
            yield node.with_changes(value=node.value.with_changes(elements=rest))


def _parenthesised(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


#: By name: the nodes that it applies to, and what it puts in the place of one.
OPERATORS: dict[
    str, tuple[tuple[type[cst.CSTNode], ...], Callable[[cst.CSTNode], Replacements]]
] = {
    "operator": ((cst.BinaryOperation, cst.BooleanOperation, cst.AugAssign), _operator),
    "comparison": ((cst.ComparisonTarget,), _comparison),
    "unary": ((cst.UnaryOperation,), _unary),
    "number": ((cst.Integer,), _number),
    "fraction": ((cst.Float,), _fraction),
    "name": ((cst.Name,), _name),
    "bound": ((cst.Slice,), _bound),
    "condition": ((cst.If, cst.IfExp, cst.Call), _condition),
    "order": ((cst.Call,), _order),
    "statement": ((cst.Expr, cst.AugAssign, cst.Assign, cst.Raise), _statement),
    "element": ((cst.AugAssign,), _element),
}
