//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
)

// loadBody is a request of about that many bytes.
func loadBody(size int, stream bool) []byte {
	head := `{"model":"claude-haiku-4-5","max_tokens":300,`
	if stream {
		head += `"stream":true,`
	}
	head += `"messages":[{"role":"user","content":"`
	tail := `"}]}`
	return []byte(head + strings.Repeat("words of a prompt ", (size-len(head)-len(tail))/18+1) + tail)
}

// BenchmarkServeLoad puts the same load on the upstream directly, through a bare
// httputil.ReverseProxy and through `flotilla serve`, in one run, and prints what
// each adds and costs (facts/gateways.md, "Figures to beat": bare proxy 112 µs of
// CPU a request, best known gateway 204; aim 150, and 0.85 of the proxy's calls a
// second). Run it with -benchtime 1x on a quiet machine.
func BenchmarkServeLoad(b *testing.B) {
	for _, c := range []struct {
		name          string
		body, n       int
		paced, pacedN int
	}{
		{"1.5KB", 1500, 40_000, 1000, 10_000},
		{"100KB", 100_000, 10_000, 300, 3_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				l := newLoader(b, loadBody(c.body, false))
				upstream := startPeer(b, "upstream", []string{"LATENCY=2ms"}, "load-upstream")
				peers := []*loadPeer{upstream, startPeer(b, "proxy", []string{"UPSTREAM=" + upstream.url}, "load-proxy"), startGateway(b, upstream.url)}
				full, paced := make([]load, len(peers)), make([]load, len(peers))
				for i, p := range peers {
					l.closed(p, 64, c.n/10) // warm: connections, caches, windows
					full[i] = l.closed(p, 64, c.n)
					paced[i] = l.paced(p, float64(c.paced), c.pacedN)
				}
				for i, p := range peers {
					b.Logf("%-8s %6.0f calls/s at 64 connections, %4.0f µs CPU a call, peak %4.0f MB; at %d/s: p50 %.2f ms (+%.2f), p99 %.2f ms (+%.2f)",
						p.name, full[i].perSecond(), full[i].cpuMicros(), p.peakMB(b), c.paced,
						paced[i].quantile(.5), paced[i].quantile(.5)-paced[0].quantile(.5),
						paced[i].quantile(.99), paced[i].quantile(.99)-paced[0].quantile(.99))
				}
				b.ReportMetric(full[2].perSecond()/full[1].perSecond(), "of-proxy-calls/s")
				b.ReportMetric(full[1].cpuMicros(), "proxy-cpu-µs")
				b.ReportMetric(full[2].cpuMicros(), "gateway-cpu-µs")
				b.ReportMetric(paced[2].quantile(.5)-paced[0].quantile(.5), "added-p50-ms")
				b.ReportMetric(paced[2].quantile(.99)-paced[0].quantile(.99), "added-p99-ms")
			}
		})
	}
}

// BenchmarkServeStreams opens 200 streams at once, directly, through the bare
// proxy and through `flotilla serve`: the first event is to come at most 1 ms
// later at the median than directly, and at most twice what the proxy adds.
func BenchmarkServeStreams(b *testing.B) {
	for range b.N {
		l := newLoader(b, loadBody(1500, true))
		upstream := startPeer(b, "upstream", []string{"LATENCY=20ms"}, "load-upstream")
		peers := []*loadPeer{upstream, startPeer(b, "proxy", []string{"UPSTREAM=" + upstream.url}, "load-proxy"), startGateway(b, upstream.url)}
		const rounds, streams = 10, 200
		all := make([]load, len(peers))
		for round := range rounds + 1 {
			for i, p := range peers {
				got := l.firsts(p, streams)
				if round > 0 { // the first one warms
					all[i].took = append(all[i].took, got.took...)
					all[i].cpu += got.cpu
				}
			}
		}
		for i, p := range peers {
			all[i] = l.loadOf(all[i].took, 1, all[i].cpu)
			b.Logf("%-8s first event p50 %.2f ms (+%.2f), p99 %.2f ms (+%.2f), %4.0f µs CPU a stream", p.name,
				all[i].quantile(.5), all[i].quantile(.5)-all[0].quantile(.5), all[i].quantile(.99), all[i].quantile(.99)-all[0].quantile(.99), all[i].cpuMicros())
		}
		added := func(i int, q float64) float64 { return all[i].quantile(q) - all[0].quantile(q) }
		b.ReportMetric(added(2, .5), "added-p50-ms")
		b.ReportMetric(added(2, .99), "added-p99-ms")
		b.ReportMetric(added(1, .5), "proxy-added-p50-ms")
		b.ReportMetric(added(1, .99), "proxy-added-p99-ms")
		if len(all[2].took) != rounds*streams {
			b.Fatal(fmt.Errorf("%d of %d streams", len(all[2].took), rounds*streams))
		}
	}
}
