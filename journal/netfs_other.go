//go:build !linux && !darwin

package journal

func network(string) bool { return false }
