// Command conformance asks an emulated API through the official SDKs, once
// directly and once by way of flotilla serve, and holds what a caller's code
// sees of the two against each other.
//
//	go run . [-suites python,typescript,go] [-only REGEXP] [-stand-in]
//	go run . -sdk-tests     the Go SDK's own tests, against the emulator
//	go run . -rerun         a script under serve -- that is killed and run again
//	go run . -restart       a gateway that is restarted under a script
//	go run . -examples      what is in examples/, and the recipes of the pages
//
// It installs the SDKs, pinned, into a cache of the user (FLOTILLA_CONFORMANCE_CACHE
// names another place). Where python3 or npm is missing it says so and ends with
// 75, or with 1 where CI is true.
package main
