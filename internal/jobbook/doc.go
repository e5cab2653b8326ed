// Package jobbook gives jobs of a journal to the job package, which knows no
// journal: to be carried ([Books]) or only to be read ([Archive]).
package jobbook
