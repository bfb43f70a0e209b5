package jinja

// expr is a part of a template that has a value; stmt one that does something.
type expr interface {
	line() int
	eval(st *state) (value, error)
}

type stmt interface {
	line() int
	exec(st *state) (signal, error)
}

// signal is what a statement asks of the loop around it.
type signal uint8

const (
	proceed signal = iota
	leave          // break
	again          // continue
)

// place is a node's line.
type place int

func (p place) line() int { return int(p) }

type (
	literal struct {
		place
		v value
	}
	nameExpr struct {
		place
		name string
	}
	listExpr struct {
		place
		kind  listKind
		items []expr
	}
	dictExpr struct {
		place
		keys, values []expr
	}
	attrExpr struct {
		place
		of   expr
		name string
	}
	itemExpr struct {
		place
		of, key expr
	}
	sliceExpr struct {
		place
		of    expr
		parts [3]expr // start, stop, step; nil: none
	}
	callExpr struct {
		place
		fn   expr
		args argExprs
	}
	filterExpr struct {
		place
		of   expr // nil: the text of a block
		name string
		do   filter
		args argExprs
	}
	testExpr struct {
		place
		of   expr
		name string
		do   test
		args argExprs
	}
	notExpr struct {
		place
		of expr
	}
	signExpr struct {
		place
		of    expr
		minus bool
	}
	logicExpr struct {
		place
		left, right expr
		or          bool
	}
	compareExpr struct {
		place
		first expr
		ops   []string
		rest  []expr
	}
	mathExpr struct {
		place
		op          string
		left, right expr
	}
	concatExpr struct {
		place
		parts []expr
	}
	condExpr struct {
		place
		test, then, otherwise expr // otherwise may be nil
	}
)

// argExprs are the arguments of a call.
type argExprs struct {
	plain  []expr
	names  []string
	named  []expr
	spread expr // *list
	pairs  expr // **dict
}

type (
	dataStmt struct {
		place
		text string
	}
	printStmt struct {
		place
		of expr
	}
	ifStmt struct {
		place
		tests  []expr
		bodies [][]stmt // one more than tests where there is an else
	}
	forStmt struct {
		place
		into      target
		over      expr
		where     expr // nil: all
		body      []stmt
		otherwise []stmt
		recursive bool
	}
	setStmt struct {
		place
		into target
		to   expr
	}
	setBlockStmt struct {
		place
		into   target
		filter expr // nil, or a chain of filters over a block's text
		body   []stmt
	}
	macroStmt struct {
		place
		macro
	}
	callStmt struct {
		place
		caller macro
		call   *callExpr
	}
	filterStmt struct {
		place
		filter expr
		body   []stmt
	}
	withStmt struct {
		place
		into []target
		to   []expr
		body []stmt
	}
	generationStmt struct {
		place
		body []stmt
	}
	jumpStmt struct {
		place
		to signal
	}
)

// macro is a body with parameters; defaults belong to the last of them.
type macro struct {
	name                     string
	params                   []string
	defaults                 []expr
	body                     []stmt
	varargs, kwargs, callers bool // the body names them
}

// target is what a value is assigned to: a name, an attribute of a namespace, or a list of targets.
type target struct {
	place
	name, attr string
	parts      []target
}
