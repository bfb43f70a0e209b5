package results

import "maps"

var thisMachine = machine{root: "/"}

func describeMachine(e *Environment) { thisMachine.describe(e) }

func stealNow() *int64 { return thisMachine.steal() }

func pressureNow() string { return thisMachine.pressure() }

func conditionsNow(suffix string) map[string]string {
	c := thisMachine.fixed()
	maps.Copy(c, thisMachine.changing(suffix))
	return c
}
