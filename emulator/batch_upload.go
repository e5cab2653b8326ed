package emulator

// upload is what the server keeps of a create beside the batch: what its
// results need and its rows' arrivals do not tell.
type upload struct {
	rows []uploaded
}

// uploaded is one row of it.
type uploaded struct {
	id    string
	fault *apiError // of an invalid one
}
