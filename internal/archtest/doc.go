// Package archtest holds the tests of the project's shape: who may import whom
// (docs/design.md), and habits that the eye misses, such as a clock read in a
// pure package. It has no code of its own.
package archtest
