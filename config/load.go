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

// Load reads the configuration from a file and from the environment, which takes precedence. The file is
// the one at the path or, if the path is "", the one that LOCUM_CONFIG names. Without both, it is
// locum.yaml in the working directory, if that exists.
//
// If a value is invalid, Load returns the configuration together with the error.
func Load(path string) (*Config, error) {
	v := viper.NewWithOptions(viper.EnvKeyReplacer(strings.NewReplacer(".", "_")))
	v.SetEnvPrefix("LOCUM")
	v.AutomaticEnv()

	c := Default()

	// Viper reads environment variables only for keys with a default or a value in the file.
	for _, l := range c.leaves() {
		v.SetDefault(l.key, l.value.Interface())
	}

	file, err := readFile(v, path)
	if err != nil {
		return nil, err
	}

	if err := rejectUnknownVariables(&c); err != nil {
		return nil, err
	}

	// Record the source of each value.
	c.sources = map[string]string{}
	for _, l := range c.leaves() {
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

	// Copy the values into c. Texts of the environment are converted to lists and durations.
	setDecoder := func(d *mapstructure.DecoderConfig) {
		d.ZeroFields = true // a list replaces the default one
		d.DecodeHook = mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToSliceHookFunc(","),
			mapstructure.StringToTimeDurationHookFunc(),
		)
	}
	if err := v.UnmarshalExact(&c, setDecoder); err != nil {
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
	isKnown := map[string]bool{"LOCUM_CONFIG": true}
	for _, l := range c.leaves() {
		isKnown[envName(l.key)] = true
	}

	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")

		isSetting := strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, "LOCUM_TEST_")
		if isSetting && !isKnown[name] {
			return fmt.Errorf("%s: no such setting; `locum config` lists them", name)
		}
	}

	return nil
}

// wrongTypeError matches the decoder's errors for values of another type. Its groups are the key, and
// the expected type or the reason why a duration is invalid.
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

		key, wantedType := match[1], match[2]

		return c.Err(key, cmp.Or(expected[wantedType], "want a "+wantedType))
	}

	return fmt.Errorf("%s: %s", source, strings.ReplaceAll(strings.TrimSpace(text), "\n", " "))
}

// leaf is a setting, which is a leaf of the tree of structs in Config: its key, such as http.addr, and
// its value.
type leaf struct {
	key   string
	value reflect.Value
}

// leaves returns all settings.
func (c *Config) leaves() []leaf {
	const noPrefix = ""
	return leavesOf(reflect.ValueOf(*c), noPrefix)
}

// leavesOf returns the settings in the struct and in the structs in it. Their keys begin with the prefix.
func leavesOf(structure reflect.Value, prefix string) (found []leaf) {
	for field, value := range structure.Fields() {
		name, isSetting := field.Tag.Lookup("mapstructure")
		switch {
		case !isSetting: // a value for the program, such as Config.sources
		case field.Type.Kind() == reflect.Struct:
			found = append(found, leavesOf(value, prefix+name+".")...)
		default:
			found = append(found, leaf{key: prefix + name, value: value})
		}
	}

	return found
}

// envName returns the environment variable of a key, such as LOCUM_HTTP_ADDR.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
