//go:build !linux && !darwin

package main

import "errors"

func fileLimit() (soft, hard uint64, err error) { return 0, 0, errors.ErrUnsupported }

func freeDisk(string) (uint64, error) { return 0, errors.ErrUnsupported }
