package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonschema "github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/locumhq/locum/core/valid"
	"github.com/locumhq/locum/modules/integrations"
)

// OpenAPI returns the OpenAPI 3.1 document of the API. It is generated from the route
// table and the types of the operations, so that it cannot differ from the server.
func OpenAPI(s API, publicURL string) ([]byte, error) {
	r := openapi31.NewReflector()
	r.Spec.Info.Title, r.Spec.Info.Version = s.Title, s.Version
	r.Spec.Info.WithDescription(s.Description)
	r.Spec.WithServers(openapi31.Server{URL: publicURL})

	if s.Authenticator == nil {
		r.Spec.SetHTTPBearerTokenSecurity("bearer", "JWT", "The access token of a sign-in, valid for 15 minutes.")
	} else {
		addSecuritySchemes(r.Spec, publicURL)
	}

	r.JSONSchemaReflector().DefaultOptions = append(
		r.JSONSchemaReflector().DefaultOptions,
		jsonschema.InterceptProp(rulesToSchema),
		jsonschema.InterceptProp(valuesToSchema(s.Values)),
		jsonschema.InterceptProp(describeField),
		jsonschema.InterceptDefName(definitionName),
	)
	for _, route := range s.Routes {
		if err := describe(r, s, route); err != nil {
			return nil, fmt.Errorf("%s %s: %w", route.Method, route.Path, err)
		}
	}

	for _, webhook := range s.Webhooks {
		if err := describeWebhook(r, s, webhook); err != nil {
			return nil, fmt.Errorf("%s: %w", webhook.Name, err)
		}
	}

	if err := shareFailures(r.Spec); err != nil {
		return nil, err
	}

	return json.MarshalIndent(r.Spec, "", "  ")
}

var pathParam = regexp.MustCompile(`:(\w+)`)

// describe adds the operation of the route to the document.
func describe(r *openapi31.Reflector, s API, route Route) error {
	oc, err := r.NewOperationContext(route.Method, pathParam.ReplaceAllString(route.Path, "{$1}"))
	if err != nil {
		return err
	}

	oc.SetID(operationID(route))
	oc.SetTags(route.Tag)
	oc.SetSummary(route.Summary)
	oc.SetDescription(policyText(route))

	if route.Auth != None {
		oc.AddSecurity("bearer")
	}

	if route.Scope != "" {
		if route.Scope != integrations.ApplicationsWrite {
			oc.AddSecurity("apiKey")
		}

		oc.AddSecurity("oauth", string(route.Scope))
	}

	if route.Op.In != reflect.TypeFor[Nothing]() {
		oc.AddReqStructure(reflect.New(route.Op.In).Interface())
	}

	if in, ok := reflect.Zero(route.Op.In).Interface().(interface{ RawBody() any }); ok {
		oc.AddReqStructure(in.RawBody())
	}

	if route.Idempotent() {
		oc.AddReqStructure(new(struct {
			Key string `header:"Idempotency-Key" validate:"max=257"`
		}))
	}

	switch route.Op.Out {
	case reflect.TypeFor[CSV]():
		oc.AddRespStructure(new(string), openapi.WithHTTPStatus(route.status()), openapi.WithContentType("text/csv"))
	case reflect.TypeFor[File]():
		for _, mediaType := range route.Produces {
			kind, _, _ := strings.Cut(mediaType, ";")
			oc.AddRespStructure(new(string), openapi.WithHTTPStatus(route.status()), openapi.WithContentType(kind))
		}
	default:
		oc.AddRespStructure(reflect.New(route.Op.responseType()).Interface(), openapi.WithHTTPStatus(route.status()))

		if route.Op.Out.Implements(reflect.TypeFor[pending]()) {
			oc.AddRespStructure(reflect.New(route.Op.responseType()).Interface(), openapi.WithHTTPStatus(http.StatusAccepted))
		}

		if route.Op.responseType() != route.Op.Out {
			oc.AddRespStructure(new(string), openapi.WithHTTPStatus(route.status()), openapi.WithContentType("text/csv"))
		}
	}

	failures := route.failures()
	oc.AddRespStructure(s.FaultBody, openapi.WithHTTPStatus(failures[0]), func(cu *openapi.ContentUnit) {
		cu.Description = http.StatusText(failures[0])
		if placed, ok := s.FaultBody.(ErrorBody); ok {
			cu.ContentType = placed.MediaType()
		}
	})

	if err := r.AddOperation(oc); err != nil {
		return err
	}

	item := r.Spec.Paths.MapOfPathItemValues[pathParam.ReplaceAllString(route.Path, "{$1}")]
	if route.Method == http.MethodDelete && route.TakesBody() {
		var err error
		if item.Delete.RequestBody, err = requestBody(r, route.Op.In); err != nil {
			return err
		}
	}

	for _, op := range []*openapi31.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if op == nil || op.ID == nil || *op.ID != operationID(route) {
			continue
		}

		// All failures have the same body, whose type is reflected once: reflecting it
		// for each failure took half of the start of a server.
		first := op.Responses.MapOfResponseOrReferenceValues[strconv.Itoa(failures[0])].Response
		for _, status := range failures[1:] {
			same := *first
			same.Description = http.StatusText(status)
			same.Content = maps.Clone(first.Content)
			same.Headers = maps.Clone(first.Headers)
			op.Responses.WithMapOfResponseOrReferenceValuesItem(strconv.Itoa(status), openapi31.ResponseOrReference{Response: &same})
		}

		if planOf(route.Op.In).form { // browsers use either of two encodings
			content := op.RequestBody.RequestBody.Content
			content["multipart/form-data"] = content["application/x-www-form-urlencoded"]
		}

		if file := planOf(route.Op.In).file; file != nil {
			op.RequestBody.RequestBody.Content["multipart/form-data"] = multipartContent(
				op.RequestBody.RequestBody.Content["application/json"],
				file.name,
			)
		}

		if route.Auth != Required && route.Scope == "" { // the empty requirement makes credentials optional
			op.Security = append(op.Security, map[string][]string{})
		}

		sampler{API: s}.addExamples(op, route)
		describeIntents(r.Spec, op, route.Op.In)
		describeHeaders(r.Spec, s, route, op)
	}

	return nil
}

// multipartContent describes a form with the fields of the JSON body and a file.
func multipartContent(body openapi31.MediaType, file string) openapi31.MediaType {
	object := map[string]any{
		"type":       "object",
		"properties": map[string]any{file: map[string]any{"type": "string", "contentMediaType": "application/octet-stream"}},
	}

	return openapi31.MediaType{Schema: map[string]any{"allOf": []any{body.Schema, object}}}
}

// requestBody describes the JSON body of an operation of the type. The reflector
// omits the bodies of DELETE requests, so it describes a POST instead, which is not
// part of the document.
func requestBody(r *openapi31.Reflector, in reflect.Type) (*openapi31.RequestBodyOrReference, error) {
	const path = "/request-body"

	oc, err := r.NewOperationContext(http.MethodPost, path)
	if err != nil {
		return nil, err
	}

	oc.AddReqStructure(reflect.New(in).Interface())

	if err := r.AddOperation(oc); err != nil {
		return nil, err
	}

	body := r.Spec.Paths.MapOfPathItemValues[path].Post.RequestBody
	delete(r.Spec.Paths.MapOfPathItemValues, path)

	return body, nil
}

// responseType returns the type of the JSON response.
func (o Operation) responseType() reflect.Type {
	if o.Out.Implements(reflect.TypeFor[multiFormat]()) {
		return reflect.TypeOf(reflect.Zero(o.Out).Interface().(multiFormat).Answer())
	}

	return o.Out
}

func (r Route) status() int { return cmp.Or(r.Status, http.StatusOK) }

// failures returns the error statuses of the route.
func (r Route) failures() []int {
	out := append([]int{http.StatusInternalServerError, http.StatusServiceUnavailable}, r.Errors...)

	plan := planOf(r.Op.In)
	if len(plan.fields) > 0 || plan.raw != nil || r.Method != http.MethodGet {
		out = append(out, http.StatusBadRequest)
	}

	if r.Search {
		out = append(out, http.StatusTooManyRequests, http.StatusRequestEntityTooLarge)
	}

	if r.TakesBody() {
		out = append(out, http.StatusRequestEntityTooLarge)
	}

	if r.Body > DefaultBody { // each user may send two large bodies at a time, then gets 429
		out = append(out, http.StatusTooManyRequests)
	}

	if strings.Contains(r.Path, "/:") {
		out = append(out, http.StatusNotFound)
	}

	if r.Auth != None {
		out = append(out, http.StatusUnauthorized)
	}

	if r.Audience != Anyone || r.Permission != "" {
		out = append(out, http.StatusForbidden)
	}

	if r.Idempotent() {
		out = append(out, http.StatusConflict, http.StatusUnprocessableEntity)
	}

	if r.Limit.Max > 0 {
		out = append(out, http.StatusTooManyRequests)
	}

	if r.Scope != "" {
		out = append(out, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}

	slices.Sort(out)

	return slices.Compact(out)
}

// policyText says in words who may use the route, and how often.
func policyText(route Route) string {
	var out []string
	if route.Audience != Anyone {
		out = append(out, "For "+route.Audience.String()+" accounts.")
	}

	if route.Scope != "" {
		out = append(out, "Needs the scope `"+string(route.Scope)+"`"+apiKeyNote(route.Scope)+".")
	}

	if route.Permission != "" {
		out = append(out, "Needs the permission `"+string(route.Permission)+"`.")
	}

	if route.Limit.Max > 0 {
		out = append(
			out,
			fmt.Sprintf("At most %d requests in %s per client address.", route.Limit.Max, strings.TrimSuffix(route.Limit.Per.String(), "0s")),
		)
	}

	return strings.Join(out, " ")
}

// apiKeyNote says whether API keys have the scope. Sending applications needs the consent of a
// user, which only OAuth asks for.
func apiKeyNote(scope integrations.Scope) string {
	if scope == integrations.ApplicationsWrite {
		return ", which API keys do not have"
	}

	return ", which API keys have"
}

// addSecuritySchemes describes the ways in which clients authenticate.
func addSecuritySchemes(spec *openapi31.Spec, publicURL string) {
	spec.SetAPIKeySecurity("apiKey", "X-API-Key", openapi.InHeader, "A key of an application, for reading in the name of its owner.")
	spec.ComponentsEns().WithSecuritySchemesItem("oauth", openapi31.SecuritySchemeOrReference{SecurityScheme: (&openapi31.SecurityScheme{
		Oauth2: (&openapi31.SecuritySchemeOauth2{}).WithFlows(openapi31.OauthFlows{AuthorizationCode: (&openapi31.OauthFlowsDefsAuthorizationCode{}).
			WithAuthorizationURL(publicURL + "/oauth/authorize").WithTokenURL(publicURL + "/oauth/token").WithRefreshURL(publicURL + "/oauth/token").
			WithScopes(map[string]string{
				string(integrations.JobsRead):          "Read jobs",
				string(integrations.ApplicationsRead):  "Read the applications that the user may see",
				string(integrations.ApplicationsWrite): "Apply in the user's name",
			})}),
	}).WithDescription("An access token by which a user lets an application act for them: authorization code with PKCE (S256). To try it on this page, register `" + publicURL + "/docs/developer/oauth2-redirect.html` as a redirect address of your application.")})
}

// operationID names an operation after its method and path:
// GET /api/listings/:id is getListingsId.
func operationID(r Route) string {
	return strings.ToLower(r.Method) + upperCamelCase(strings.TrimPrefix(r.Path, "/api/"))
}

// definitionNoise matches the parts of a Go type name that schema names omit: package
// paths and the punctuation of type parameters.
var definitionNoise = regexp.MustCompile(
	`GithubComLocumhqLocum(Adapters|Modules|Core)|Fiberhttp|Portal|Developer|Integrations|Web([A-Z])|[^A-Za-z0-9]`,
)

// definitionName turns web.Reply[…/portal.listing] into ReplyPortalListing.
func definitionName(_ reflect.Type, name string) string {
	return definitionNoise.ReplaceAllString(name, "$2")
}

// rulesToSchema translates the rules of package valid to JSON Schema.
func rulesToSchema(p jsonschema.InterceptPropParams) error {
	if !p.Processed || p.PropertySchema == nil {
		return nil
	}

	rules := valid.Rules(p.Field.Tag)

	isRequired := slices.Contains(rules, valid.Rule{Name: "required"}) || isRequiredInResponse(p)
	if isRequired && !slices.Contains(p.ParentSchema.Required, p.Name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}

	if p.Field.Type.Kind() == reflect.Pointer && p.PropertySchema.Ref != nil {
		// A nil pointer is encoded as null, which a plain reference does not allow.
		ref := p.PropertySchema.Ref
		p.PropertySchema.Ref = nil
		p.PropertySchema.AnyOf = []jsonschema.SchemaOrBool{
			(&jsonschema.Schema{Ref: ref}).ToSchemaOrBool(),
			jsonschema.Null.ToSchemaOrBool(),
		}
	}

	if k := p.Field.Type.Kind(); k == reflect.Slice && isRequiredInResponse(p) && p.PropertySchema.HasType(jsonschema.Array) {
		p.PropertySchema.WithType(jsonschema.Array.Type()) // lists in responses are never null
	}

	t := p.Field.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if own, ok := reflect.Zero(t).Interface().(interface{ JSONTypes() []string }); ok {
		p.PropertySchema.Ref, p.PropertySchema.Type = nil, &jsonschema.Type{}
		for _, name := range own.JSONTypes() {
			p.PropertySchema.Type.SliceOfSimpleTypeValues = append(
				p.PropertySchema.Type.SliceOfSimpleTypeValues,
				jsonschema.SimpleType(name),
			)
		}
	}

	for _, rule := range rules {
		if rule.Name == "dive" {
			break // the rules after dive apply to the items
		}

		n, _ := strconv.ParseFloat(rule.Param, 64)
		switch rule.Name {
		case "oneof":
			for _, v := range rule.Values() {
				p.PropertySchema.Enum = append(p.PropertySchema.Enum, v)
			}

			if p.Field.Type.Kind() == reflect.Pointer {
				p.PropertySchema.Enum = append(p.PropertySchema.Enum, nil)
			}
		case "email", "uuid":
			p.PropertySchema.WithFormat(rule.Name)
		case "min", "max":
			if rule.Name == "min" && slices.Contains(rules, valid.Rule{Name: "omitzero"}) {
				continue // an empty value is valid
			}

			setBound(p.PropertySchema, t.Kind(), rule.Name == "min", n)
		case "gt":
			p.PropertySchema.WithExclusiveMinimum(n)
		}
	}

	return nil
}

// valuesToSchema adds the possible values of types as enums.
func valuesToSchema(values map[reflect.Type][]string) jsonschema.InterceptPropFunc {
	return func(p jsonschema.InterceptPropParams) error {
		if !p.Processed || p.PropertySchema == nil || len(p.PropertySchema.Enum) > 0 {
			return nil
		}

		t := p.Field.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}

		for _, v := range values[t] {
			p.PropertySchema.Enum = append(p.PropertySchema.Enum, v)
		}

		if len(p.PropertySchema.Enum) > 0 && t != p.Field.Type {
			p.PropertySchema.Enum = append(p.PropertySchema.Enum, nil)
		}

		return nil
	}
}

// isRequiredInResponse reports whether the property is in every response: its tag has
// no omitempty or omitzero.
func isRequiredInResponse(p jsonschema.InterceptPropParams) bool {
	tag, ok := p.Field.Tag.Lookup("json")
	if !ok || strings.Contains(tag, "omitempty") || strings.Contains(tag, "omitzero") {
		return false
	}

	oc, ok := openapi.OperationCtx(p.Context)

	return ok && oc.IsProcessingResponse()
}

// setBound sets the lower or upper bound, which a rule has in the same words for the length of a
// text or list and for a number.
func setBound(s *jsonschema.Schema, k reflect.Kind, lower bool, n float64) {
	size := int64(n)
	switch {
	case k == reflect.String && lower:
		s.WithMinLength(size)
	case k == reflect.String:
		s.WithMaxLength(size)
	case k == reflect.Slice && lower:
		s.WithMinItems(size)
	case k == reflect.Slice:
		s.WithMaxItems(size)
	case lower:
		s.WithMinimum(n)
	default:
		s.WithMaximum(n)
	}
}
