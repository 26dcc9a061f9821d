"use strict";
const { document: url, at } = document.currentScript.dataset;
SwaggerUIBundle({
  url,
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: -1, // whoever wants the schemas finds them at the operations
  validatorUrl: null,
  oauth2RedirectUrl: location.origin + at + "/oauth2-redirect.html",
}).initOAuth({ usePkceWithAuthorizationCodeGrant: true });
