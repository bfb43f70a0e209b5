// Package htmlreport writes a run, a load test or a sweep of them, or the history of a metric over runs, as one
// self-contained HTML page: no script, no font, image or style from elsewhere, and
// a content security policy that forbids the browser to fetch any.
//
// # What is on the page
//
// The verdict in one sentence, warnings, the primary cells, each of them with its
// rounds drawn as pairs and listed, the order-statistic intervals of every cell and
// metric as a forest plot, the spread over consumers, counters, the environment,
// and the commands that check and repeat the run. Figures that were rounded for
// reading stand in full in the value attribute of their data element. A run that is
// not verified has its failure and no time at all.
//
// # Drawings
//
// gonum.org/v1/plot draws to SVG. It knows fixed colours only, so the drawings are
// made in stand-ins, one for each role (colours.go), which are then replaced by
// the page's CSS variables: one page serves both colour schemes. Text in a drawing
// is names of this program and numbers, never what a run brought along.
//
// # For every reader
//
// Contrast is at least 4.5 to 1 for text and 3 to 1 for what is drawn, in both
// schemes (a test computes it from style.css). Nothing is told by colour alone:
// arms differ in the shape of their points, slower rounds in their dashes, primary
// cells in a filled mark, decisions in words. Every drawing has a title and a
// description, every table a caption, every part that scrolls takes the focus.
//
// # Escaping
//
// Everything that a run brought along (specs, messages, commands) goes through
// html/template's contextual escaping. Only drawings and the style sheet are
// trusted, and both are made here.
package htmlreport
