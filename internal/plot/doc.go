// Package plot draws figures for people, as SVG and as PNG from the same
// drawing. It is pure: equal figures give equal bytes.
//
// A [Figure] is titled with what was found and holds panels; a [Panel] has two
// axes and layers ([Line], [Band], [Dots], [Bars], [Boxes], [Cells], [Rule],
// [Note]), drawn in order. Series carry their names beside them instead of in a
// legend: labels are placed after everything else, where they hide least. Inks
// differ in lightness and series in their marks, so that a grey print reads the
// same.
//
//	f := plot.Figure{
//		Title: "high carries 980 calls a minute; more than 97 at once add nothing",
//		Panels: []plot.Panel{{
//			X:      plot.Axis{Label: "calls in flight"},
//			Y:      plot.Axis{Label: "calls a minute", Zero: true},
//			Layers: []plot.Layer{plot.Dots{Readings: measured}},
//		}},
//	}
//	svg, err := f.SVG()
//
// Known limitations. A label is put where it costs least, which is not always
// where a person would have put it: in a crowded panel it may cross a line, on a
// white edge. Text is measured with the Go fonts; the SVG asks for them, and
// where they are not installed it holds the substitute to the measured width.
// There is no kerning, no right-to-left writing and no character beyond those of
// the Go fonts (Latin, Greek, Cyrillic, common signs).
package plot
