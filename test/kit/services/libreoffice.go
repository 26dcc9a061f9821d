package services

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// LibreOffice converts documents with LibreOffice Calc, which needs no display.
type LibreOffice struct {
	program string
	env     []string
}

// FindLibreOffice returns the LibreOffice of the machine, or downloads Debian's.
func FindLibreOffice() (LibreOffice, error) {
	if program, err := exec.LookPath("soffice"); err == nil {
		return LibreOffice{program: program}, nil
	}
	root, env, err := fetched("libreoffice-calc-nogui")
	if err != nil {
		return LibreOffice{}, fmt.Errorf("libreoffice: %w", err)
	}
	home := filepath.Join(root, "usr/lib/libreoffice")
	if err := configureLibreOffice(home); err != nil {
		return LibreOffice{}, fmt.Errorf("libreoffice: %w", err)
	}
	bin := filepath.Join(home, "program")
	return LibreOffice{program: filepath.Join(bin, "soffice.bin"), env: []string{strings.Replace(env[0], "=", "="+bin+":", 1)}}, nil
}

// configureLibreOffice does what the installation of the package would do: it
// links the configuration to the path in the settings, outside of /etc. It is
// idempotent.
func configureLibreOffice(home string) error {
	settings := filepath.Join(home, "program/fundamentalrc")
	raw, err := os.ReadFile(settings)
	if err != nil {
		return err
	}
	own := strings.NewReplacer("file:///usr/lib/libreoffice", "file://"+home, "file:///etc/libreoffice/registry", "file://"+filepath.Join(home, "share/.registry")).
		Replace(string(raw))
	if own == string(raw) {
		return nil
	}
	part := settings + ".part"
	return errors.Join(os.WriteFile(part, []byte(own), 0o644), os.Rename(part, settings))
}

// Convert writes a CSV file (RFC 4180, UTF-8) in another format beside it and
// returns the new file's path.
func (l LibreOffice) Convert(csvFile, format string) (string, error) {
	dir := filepath.Dir(csvFile)
	out := strings.TrimSuffix(csvFile, filepath.Ext(csvFile)) + "." + format
	var said []byte
	for range 2 { // the first start of a profile may only make it
		cmd := exec.Command(l.program, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
			"--headless", "--convert-to", format, "--infilter=CSV:44,34,76,1", "--outdir", dir, csvFile)
		cmd.Env = append(os.Environ(), append(l.env, "HOME="+dir)...)
		said, _ = cmd.CombinedOutput()
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			return out, err
		}
	}
	return "", fmt.Errorf("libreoffice wrote no %s: %s", out, said)
}
