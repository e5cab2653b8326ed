// What the bundler puts in for JSX; every file gets it (build/bundle.go).
export { h, Fragment } from "preact";
