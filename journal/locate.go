package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	dirName  = ".flotilla"
	fileName = "journal.db"
)

// Locate says where the journal is: explicit where it is set (--journal, else
// FLOTILLA_JOURNAL), else in the nearest .flotilla directory from wd upwards,
// else in one that [Open] will create in wd. An explicit path that is a
// directory means the journal.db in it.
func Locate(explicit, wd string) (string, error) {
	if explicit != "" {
		return locateExplicit(explicit, wd)
	}
	abs, err := filepath.Abs(wd)
	if err != nil {
		return "", fmt.Errorf("journal: locate from %s: %w", wd, err)
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		if isDir(filepath.Join(dir, dirName)) {
			return filepath.Join(dir, dirName, fileName), nil
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(abs, dirName, fileName), nil
		}
	}
}

func locateExplicit(path, wd string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(wd, path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("journal: locate %s: %w", path, err)
	}
	if isDir(abs) || filepath.Base(abs) == dirName {
		return filepath.Join(abs, fileName), nil
	}
	return abs, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

var preparing sync.Mutex

// prepare creates the journal's directory and file where they are not there:
// 0700 and 0600, since answers and prompts are nobody else's. SQLite gives its
// side files the mode of the file. It never opens a file that exists: closing
// it would drop the locks that another connection of this process has on it
// (fcntl(2)); for the same reason a file that is being made is nobody's yet.
func prepare(path string) error {
	preparing.Lock()
	defer preparing.Unlock()
	dir := filepath.Dir(path)
	if !isDir(dir) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if filepath.Base(dir) == dirName {
		if err := createOnce(filepath.Join(dir, ".gitignore"), "*\n"); err != nil {
			return err
		}
	}
	return createOnce(path, "")
}

func createOnce(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}
