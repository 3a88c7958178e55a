//! The syntax that expressions may have: what is listed here, and nothing that repeats a list.
//!
//! The engine repeats lists lazily, and its fuel counts neither the comparison of what is inside a list nor its way to
//! text. So no value may be larger than the values and the text that it is made of: `*` takes numbers alone, a filter
//! that hands its arguments to each item has literals alone, and nothing is called. Texts that `join` and `replace` make
//! can be longer; fuel limits their bytes. Then the work of an evaluation is at
//! most the size of the values that it names, times the number of its operations.

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, UnaryOpKind};
use minijinja::value::{Value as Dynamic, ValueKind};

use crate::near;
use crate::pipeline::path::{Path, Segment};

/// The filters, with the arguments that they may have.
const FILTERS: [(&str, Arguments); 38] = [
    ("abs", Arguments::Literal),
    ("attr", Arguments::Literal),
    ("bool", Arguments::Literal),
    ("capitalize", Arguments::Literal),
    ("count", Arguments::Literal),
    ("d", Arguments::Any),
    ("default", Arguments::Any),
    ("dictsort", Arguments::Literal),
    ("first", Arguments::Literal),
    ("float", Arguments::Literal),
    ("groupby", Arguments::Literal),
    ("int", Arguments::Literal),
    ("items", Arguments::Literal),
    ("join", Arguments::Any),
    ("last", Arguments::Literal),
    ("length", Arguments::Literal),
    ("lines", Arguments::Literal),
    ("list", Arguments::Literal),
    ("lower", Arguments::Literal),
    ("map", Arguments::Filter),
    ("max", Arguments::Literal),
    ("min", Arguments::Literal),
    ("reject", Arguments::Test(0)),
    ("rejectattr", Arguments::Test(1)),
    ("replace", Arguments::Any),
    ("reverse", Arguments::Literal),
    ("round", Arguments::Literal),
    ("select", Arguments::Test(0)),
    ("selectattr", Arguments::Test(1)),
    ("sort", Arguments::Literal),
    ("split", Arguments::Any),
    ("string", Arguments::Literal),
    ("sum", Arguments::Attribute),
    ("title", Arguments::Literal),
    ("tojson", Arguments::Literal),
    ("trim", Arguments::Literal),
    ("unique", Arguments::Literal),
    ("upper", Arguments::Literal),
];
/// The tests that compare with a value; [`super`] has its own form of them, for values that aren't lists.
pub(super) const COMPARISONS: [&str; 13] = [
    "!=", "<", "<=", "==", ">", ">=", "eq", "ge", "gt", "in", "le", "lt", "ne",
];
/// The other tests.
const TESTS: [&str; 18] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "even",
    "false",
    "float",
    "integer",
    "iterable",
    "mapping",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
];
/// The filters whose result is a number.
const OF_NUMBERS: [&str; 7] = ["abs", "count", "float", "int", "length", "round", "sum"];
/// The filters that compare each item with several others.
const SORTING: [&str; 4] = ["dictsort", "groupby", "sort", "unique"];
/// The work of one of them, as a number of operations.
const SORT_WORK: usize = 8;
/// The longest text among the arguments of a filter that hands them to each item, in bytes.
const MAX_LITERAL: usize = 64;
/// The advice where an operand isn't a number.
const NUMBERS: &str = "`*` and `**` take numbers: write `(…) | int` or `(…) | float`";

/// The arguments of a filter.
#[derive(Clone, Copy, PartialEq)]
enum Arguments {
    /// Numbers, short texts, `true`, `false`, `none`.
    Literal,
    /// Expressions.
    Any,
    /// The name of an attribute.
    Attribute,
    /// The name of a filter and its literal arguments, or `attribute` and `default`.
    Filter,
    /// A number of attributes, the name of a test, and its arguments.
    Test(usize),
}

/// The facts of an expression that its evaluation needs.
#[derive(Debug, Default)]
pub(super) struct Syntax {
    /// The values that it names, each as often as it does; the first part is the variable.
    pub(super) paths: Vec<Path>,
    /// Those that must not be lists or texts.
    pub(super) numbers: Vec<Path>,
    /// The number of operations.
    pub(super) operations: usize,
}

impl Syntax {
    /// Looks through an expression.
    pub(super) fn add(&mut self, expression: &Expr<'_>) -> Result<(), String> {
        if let Some(path) = path(expression) {
            self.paths.push(path);
            return Ok(());
        }
        self.operations += 1;
        match expression {
            Expr::Var(_) => Err("this path is too long".to_owned()),
            Expr::Const(_) => Ok(()),
            Expr::GetAttr(of) => self.add(&of.expr),
            Expr::GetItem(of) => self.all([&of.expr, &of.subscript_expr]),
            Expr::Slice(of) => {
                let bounds = [&of.start, &of.stop, &of.step];
                self.all(bounds.into_iter().flatten().chain([&of.expr]))
            }
            Expr::UnaryOp(of) => self.add(&of.expr),
            Expr::BinOp(of) if matches!(of.op, BinOpKind::Mul | BinOpKind::Pow) => {
                self.number(&of.left)?;
                self.number(&of.right)
            }
            Expr::BinOp(of) => self.all([&of.left, &of.right]),
            Expr::Compare(of) => {
                self.operations += of.ops.len();
                self.all(of.ops.iter().map(|op| &op.expr).chain([&of.expr]))
            }
            Expr::IfExpr(of) => {
                self.all([&of.test_expr, &of.true_expr])?;
                self.all(&of.false_expr)
            }
            Expr::Filter(of) => {
                self.all(&of.expr)?;
                self.filter(of.name, &of.args)
            }
            Expr::Test(of) => {
                self.add(&of.expr)?;
                self.test(of.name, &of.args)
            }
            Expr::List(of) => self.all(&of.items),
            Expr::Tuple(of) => self.all(&of.items),
            Expr::Map(of) => self.all(of.keys.iter().chain(&of.values)),
            Expr::Call(_) => Err("an expression calls no functions: use filters".to_owned()),
        }
    }

    fn all<'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e Expr<'e>>,
    ) -> Result<(), String> {
        expressions.into_iter().try_for_each(|each| self.add(each))
    }

    /// Looks through an operand that must be a number.
    fn number(&mut self, operand: &Expr<'_>) -> Result<(), String> {
        match operand {
            Expr::Const(of) if of.value.kind() == ValueKind::Number => Ok(()),
            Expr::UnaryOp(of) if matches!(of.op, UnaryOpKind::Neg) => self.number(&of.expr),
            Expr::BinOp(of) if is_arithmetic(of.op) => {
                self.operations += 1;
                self.number(&of.left)?;
                self.number(&of.right)
            }
            Expr::IfExpr(of) => {
                self.add(&of.test_expr)?;
                self.number(&of.true_expr)?;
                of.false_expr
                    .as_ref()
                    .map_or(Ok(()), |other| self.number(other))
            }
            Expr::Filter(of) if OF_NUMBERS.contains(&of.name) => self.add(operand),
            Expr::Filter(of) if ["default", "d"].contains(&of.name) => {
                let arguments = of.args.iter().map(|argument| match argument {
                    CallArg::Pos(argument) => Ok(argument),
                    _ => Err(NUMBERS.to_owned()),
                });
                for each in of.expr.iter().map(Ok).chain(arguments) {
                    self.number(each?)?;
                }
                Ok(())
            }
            _ => {
                let path = path(operand).ok_or(NUMBERS)?;
                self.numbers.push(path.clone());
                self.paths.push(path);
                Ok(())
            }
        }
    }

    fn filter(&mut self, name: &str, arguments: &[CallArg<'_>]) -> Result<(), String> {
        if SORTING.contains(&name) {
            self.operations += SORT_WORK;
        }
        let kind = filter(name)?;
        let literal = |argument: &CallArg<'_>| match literal(argument) {
            Some(_) => Ok(()),
            None => Err(format!(
                "the arguments of `{name}` must be numbers or texts of at most {MAX_LITERAL} bytes, as they are"
            )),
        };
        match kind {
            Arguments::Literal => arguments.iter().try_for_each(literal),
            Arguments::Any => self.arguments(arguments),
            Arguments::Attribute => match arguments {
                [] | [CallArg::Pos(_) | CallArg::Kwarg("attribute", _)] => {
                    arguments.iter().try_for_each(literal)
                }
                _ => Err(format!("`{name}` takes an attribute alone")),
            },
            Arguments::Filter => {
                if let Some(CallArg::Pos(_)) = arguments.first() {
                    let inner = named(arguments.first(), name)?;
                    if !matches!(filter(&inner)?, Arguments::Literal | Arguments::Any) {
                        return Err(format!("`map` can't use the filter `{inner}`"));
                    }
                    if SORTING.contains(&inner.as_str()) {
                        self.operations += SORT_WORK;
                    }
                }
                arguments.iter().try_for_each(literal)
            }
            Arguments::Test(attributes) => {
                let (attributes, rest) = arguments
                    .split_at_checked(attributes)
                    .ok_or_else(|| format!("`{name}` needs the name of an attribute"))?;
                attributes.iter().try_for_each(literal)?;
                match rest.split_first() {
                    Some((test, arguments)) => self.test(&named(Some(test), name)?, arguments),
                    None => Ok(()),
                }
            }
        }
    }

    fn test(&mut self, name: &str, arguments: &[CallArg<'_>]) -> Result<(), String> {
        let known = || TESTS.iter().chain(&COMPARISONS).copied();
        if !known().any(|known| known == name) {
            return Err(unknown("test", name, known()));
        }
        self.arguments(arguments)
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Result<(), String> {
        arguments.iter().try_for_each(|argument| match argument {
            CallArg::Pos(value) | CallArg::Kwarg(_, value) => self.add(value),
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
                Err("`*` and `**` before arguments aren't supported: list them".to_owned())
            }
        })
    }
}

fn filter(name: &str) -> Result<Arguments, String> {
    let found = FILTERS.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, arguments)| *arguments)
        .ok_or_else(|| unknown("filter", name, FILTERS.iter().map(|(name, _)| *name)))
}

fn unknown(kind: &str, name: &str, known: impl Iterator<Item = &'static str> + Clone) -> String {
    let hint = match near::meant(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are `{}`", known.collect::<Vec<_>>().join("`, `")),
    };
    format!("there is no {kind} `{name}`: {hint}")
}

/// The name of a filter or a test among arguments.
fn named(argument: Option<&CallArg<'_>>, of: &str) -> Result<String, String> {
    let name = argument
        .and_then(literal)
        .and_then(|name| name.as_str().map(str::to_owned));
    name.ok_or_else(|| format!("`{of}` needs a name in quotes"))
}

fn literal(argument: &CallArg<'_>) -> Option<Dynamic> {
    let (CallArg::Pos(value) | CallArg::Kwarg(_, value)) = argument else {
        return None;
    };
    let value = match value {
        Expr::UnaryOp(of) if matches!(of.expr, Expr::Const(_)) => value.as_const()?,
        Expr::Const(of) => of.value.clone(),
        _ => return None,
    };
    (value.as_str().unwrap_or_default().len() <= MAX_LITERAL).then_some(value)
}

fn is_arithmetic(operator: BinOpKind) -> bool {
    use BinOpKind::{Add, Div, FloorDiv, Mul, Pow, Rem, Sub};
    matches!(operator, Add | Sub | Mul | Div | FloorDiv | Rem | Pow)
}

/// The path of an expression that is one: a variable, and names or numbers after it.
fn path(expression: &Expr<'_>) -> Option<Path> {
    let mut segments = Vec::new();
    let mut rest = expression;
    loop {
        let segment = match rest {
            Expr::Var(of) => {
                segments.push(Segment::Name(of.id.to_owned()));
                segments.reverse();
                return Some(Path(segments));
            }
            Expr::GetAttr(of) => {
                rest = &of.expr;
                Segment::Name(of.name.to_owned())
            }
            Expr::GetItem(of) => {
                rest = &of.expr;
                let Expr::Const(index) = &of.subscript_expr else {
                    return None;
                };
                match index.value.as_str() {
                    Some(name) => Segment::Name(name.to_owned()),
                    None => Segment::Index(index.value.as_usize()?),
                }
            }
            _ => return None,
        };
        segments.push(segment);
    }
}
