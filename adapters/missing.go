package adapters

import "reflect"

// Missing returns the names of the required ports that are nil: of a Storage,
// such as "Identity.Users", of the storage of one module, or of Services. Ports
// with the tag `port:"optional"` are not required.
func Missing(ports any) []string {
	return missing(reflect.ValueOf(ports), "")
}

func missing(v reflect.Value, path string) (names []string) {
	for i := range v.NumField() {
		field, f := v.Type().Field(i), v.Field(i)
		switch {
		case field.Type.Kind() == reflect.Struct && field.Anonymous:
			names = append(names, missing(f, path)...)
		case field.Type.Kind() == reflect.Struct:
			names = append(names, missing(f, path+field.Name+".")...)
		case f.IsZero() && field.Tag.Get("port") != "optional":
			names = append(names, path+field.Name)
		}
	}
	return names
}
