package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

const envPrefix = "LOCUM_"

// Load reads the file (path, else LOCUM_CONFIG, else locum.yaml in the working directory
// if it exists) and the environment, which takes precedence.
func Load(path string) (*Config, error) {
	v := viper.NewWithOptions(viper.EnvKeyReplacer(strings.NewReplacer(".", "_")))
	v.SetEnvPrefix("LOCUM")
	v.AutomaticEnv()

	c := Default()

	// Viper reads environment variables only for keys with a default or a value in the file.
	for _, l := range leaves(reflect.ValueOf(c), "") {
		v.SetDefault(l.key, l.value.Interface())
	}

	file, err := readFile(v, path)
	if err != nil {
		return nil, err
	}

	if err := rejectUnknownVariables(&c); err != nil {
		return nil, err
	}

	c.sources = map[string]string{}
	for _, l := range leaves(reflect.ValueOf(c), "") {
		env := envName(l.key)
		switch {
		case os.Getenv(env) != "":
			c.sources[l.key] = env
		case v.InConfig(l.key):
			c.sources[l.key] = file
		default:
			c.sources[l.key] = "default"
		}
	}

	decode := func(d *mapstructure.DecoderConfig) {
		d.ZeroFields = true // a list replaces the default one
		d.DecodeHook = mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToSliceHookFunc(","),
			mapstructure.StringToTimeDurationHookFunc(),
		)
	}
	if err := v.UnmarshalExact(&c, decode); err != nil {
		return nil, c.userMessage(err, cmp.Or(file, "the environment"))
	}

	return &c, c.validate()
}

// readFile reads the file and returns its path, which is empty if there is no file.
func readFile(v *viper.Viper, path string) (string, error) {
	path = cmp.Or(path, os.Getenv("LOCUM_CONFIG"))

	isNamed := path != ""
	if !isNamed {
		path = "locum.yaml"
	}

	v.SetConfigFile(path)
	v.SetConfigType("yaml")

	err := v.ReadInConfig()
	if !isNamed && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}

	if err != nil {
		// The parser quotes invalid values in backquotes. They may be secrets, so they are removed.
		text := quotedValue.ReplaceAllString(strings.ReplaceAll(err.Error(), "\n", " "), "a value")
		return "", fmt.Errorf("%s: cannot be read as a configuration: %s", path, text)
	}

	return path, nil
}

// quotedValue matches a value in an error of the parser.
var quotedValue = regexp.MustCompile("`[^`]*`")

// rejectUnknownVariables returns an error for a misspelled LOCUM_ variable, which would
// otherwise be ignored.
func rejectUnknownVariables(c *Config) error {
	knownNames := map[string]bool{"LOCUM_CONFIG": true}
	for _, l := range leaves(reflect.ValueOf(*c), "") {
		knownNames[envName(l.key)] = true
	}

	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, "LOCUM_TEST_") && !knownNames[name] {
			return fmt.Errorf("%s: no such setting; `locum config` lists them", name)
		}
	}

	return nil
}

// wrongTypeError matches the decoder's errors for values of another type.
var wrongTypeError = regexp.MustCompile(
	`'([a-z0-9_.]+)' (?:cannot parse value as '|expected type '|time: unknown |time: missing |time: invalid )([a-z0-9]+)`,
)

// userMessage returns a decoder's error in one line, with the key and the expected value.
func (c *Config) userMessage(err error, source string) error {
	text := err.Error()
	if _, keys, hasInvalidKeys := strings.Cut(text, "invalid keys: "); hasInvalidKeys {
		keys, _, _ = strings.Cut(keys, "\n")
		return fmt.Errorf("%s: unknown key %s; `locum config` lists the keys there are", source, keys)
	}

	if match := wrongTypeError.FindStringSubmatch(text); match != nil {
		expected := map[string]string{
			"bool":     "want true or false",
			"int":      "want a whole number",
			"int64":    "want a whole number",
			"string":   "want a text",
			"float64":  "want a number",
			"duration": "want a duration such as 5s",
			"unit":     "want a duration with its unit, such as 5s",
		}

		return c.Err(match[1], cmp.Or(expected[match[2]], "want a "+match[2]))
	}

	return fmt.Errorf("%s: %s", source, strings.ReplaceAll(strings.TrimSpace(text), "\n", " "))
}

// leaf is a setting, which is a leaf of the tree of structs in Config: its key, such as http.addr, and
// its value.
type leaf struct {
	key   string
	value reflect.Value
}

// leaves returns the settings in the struct and in the structs in it.
func leaves(v reflect.Value, prefix string) (out []leaf) {
	for field, value := range v.Fields() {
		name, tagged := field.Tag.Lookup("mapstructure")
		switch {
		case !tagged: // not a setting, but a value for the program, such as Config.sources
		case field.Type.Kind() == reflect.Struct:
			out = append(out, leaves(value, prefix+name+".")...)
		default:
			out = append(out, leaf{prefix + name, value})
		}
	}

	return out
}

// envName returns the environment variable of a key, such as LOCUM_HTTP_ADDR.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
