package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// modules are the libraries by the names they are imported by. Their files are
// those of the packages named in third_party/README.md, unchanged.
var modules = map[string]string{
	"preact":               "preact/preact.mjs",
	"preact/hooks":         "preact/hooks.mjs",
	"@preact/signals":      "signals/signals.mjs",
	"@preact/signals-core": "signals/signals-core.mjs",
	"uplot":                "uplot/uPlot.esm.js",
	"uplot/style.css":      "uplot/uPlot.min.css",
}

// bundle is what ui/dist holds, by file name. Each file but the page itself has
// a hash of its content in its name, so that a browser may keep it for ever.
func bundle(root string) (map[string][]byte, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	built, err := scripts(root)
	if err != nil {
		return nil, err
	}
	licences, err := licences(filepath.Join(root, "third_party"))
	if err != nil {
		return nil, err
	}
	built["licences.txt"] = licences
	if built["icon.svg"], err = os.ReadFile(filepath.Join(root, "src", "icon.svg")); err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(root, "src", "index.html"))
	if err != nil {
		return nil, err
	}
	return hashed(page, built)
}

// scripts bundles the two entries: the theme, which must be set before anything
// is drawn, and all else with its style.
func scripts(root string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, entry := range []string{"src/theme_early.js", "src/main.jsx"} {
		result := build(root, entry)
		if err := complaints(result); err != nil {
			return nil, err
		}
		for _, f := range result.OutputFiles {
			out[filepath.Base(f.Path)] = f.Contents
		}
	}
	return out, nil
}

// complaints are what the bundler says against the sources; warnings too.
func complaints(result api.BuildResult) error {
	var all []error
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		if m.Location != nil {
			all = append(all, fmt.Errorf("%s:%d:%d: %s", m.Location.File, m.Location.Line, m.Location.Column, m.Text))
		} else {
			all = append(all, errors.New(m.Text))
		}
	}
	return errors.Join(all...)
}

// build bundles an entry with all that it imports.
func build(root, entry string) api.BuildResult {
	alias := map[string]string{}
	for name, file := range modules {
		alias[name] = filepath.Join(root, "third_party", filepath.FromSlash(file))
	}
	var inject []string
	if strings.HasSuffix(entry, ".jsx") {
		inject = []string{"src/jsx.js"} // and with it all of Preact
	}
	return api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		EntryPoints:   []string{entry},
		Outdir:        "dist",
		Bundle:        true,
		Alias:         alias,
		Format:        api.FormatIIFE,
		// Two years old: what a browser that is kept up to date understands.
		Target:            api.ES2022,
		JSX:               api.JSXTransform,
		JSXFactory:        "h",
		JSXFragment:       "Fragment",
		Inject:            inject,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsNone, // they stand in licences.txt
		Charset:           api.CharsetUTF8,
		LogLevel:          api.LogLevelSilent,
	})
}

// licences joins those of the libraries: MIT asks that they go where the code
// goes.
func licences(dir string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "LICENSE"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s holds no licences (%w)", dir, err)
	}
	var b bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s\n\n%s\n\n", filepath.Base(filepath.Dir(f)), bytes.TrimSpace(text))
	}
	return b.Bytes(), nil
}

// placeholder is the name of a file in the page, or of the licences in a script.
var placeholder = regexp.MustCompile(`%%([a-z_.]+)%%`)

// hashed names the files by their content and fills their names into the page.
func hashed(page []byte, built map[string][]byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	names := map[string]string{}
	for name, data := range built {
		base, ext, _ := strings.Cut(name, ".")
		sum := sha256.Sum256(data)
		names[name] = fmt.Sprintf("%s-%s.%s", base, strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5])), ext)
		out[names[name]] = data
	}
	var missing error
	out["index.html"] = placeholder.ReplaceAllFunc(page, func(m []byte) []byte {
		name := string(placeholder.FindSubmatch(m)[1])
		if names[name] == "" {
			missing = fmt.Errorf("index.html names %s, which is not built", name)
		}
		return []byte(names[name])
	})
	return out, missing
}
