"use strict";
// The page lies beside the API, wherever a proxy puts both.
const base = location.pathname.replace(/\/docs$/, "");
const login = document.getElementById("login");
const state = document.getElementById("state");

function element(name, text, properties) {
  const made = document.createElement(name);
  made.textContent = text ?? "";
  return Object.assign(made, properties);
}

function field(label, control, isWide) {
  const made = element("label", label, { className: isWide ? "wide" : "" });
  made.append(control);
  return made;
}

login.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { email, password, token } = login.elements;
  const answer = await fetch(`${base}/api/v1/auth/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email: email.value, password: password.value }),
  });
  const body = await answer.json();
  password.value = "";
  if (answer.ok) {
    token.value = body.access_token;
    state.textContent = `Signed in for ${Math.round(body.expires_in / 60)} minutes.`;
  } else {
    state.textContent = body.detail;
  }
});

/** An example of a schema: the example that it has, else the fields that must be there. */
function example(schema) {
  if (schema.example !== undefined) return schema.example;
  if (schema.enum) return schema.enum[0];
  const type = [schema.type].flat()[0];
  if (type === "object") {
    const required = schema.required ?? [];
    const fields = required.map((name) => [name, example(schema.properties[name])]);
    return Object.fromEntries(fields);
  }
  return { array: [], integer: schema.minimum ?? 0, boolean: false }[type] ?? "";
}

function operation(method, path, about) {
  const made = element("details");
  const summary = element("summary");
  summary.append(element("code", `${method.toUpperCase()} ${path}`), about.summary);
  const form = element("form");
  const inputs = about.parameters.map((parameter) => {
    const input = element("input", "", { required: parameter.required, title: parameter.description ?? "" });
    form.append(field(`${parameter.name}${parameter.required ? " *" : ""}`, input));
    return [parameter, input];
  });
  const content = about.requestBody?.content ?? {};
  let body = null;
  if (content["application/json"]) {
    const { schema, example: given } = content["application/json"];
    body = element("textarea", JSON.stringify(given ?? example(schema), null, 2), { rows: 5 });
    form.append(field("Body", body, true));
  } else if (Object.keys(content).length > 0) {
    body = element("input", "", { type: "file" });
    form.append(field("File", body));
  }
  const result = element("pre", "", { hidden: true });
  form.append(element("button", "Send"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    result.hidden = false;
    result.textContent = "…";
    try {
      result.textContent = await send(method, path, inputs, body, content);
    } catch (error) {
      result.textContent = String(error);
    }
  });
  made.append(summary, element("small", about.description), form, result);
  return made;
}

async function send(method, path, inputs, body, content) {
  const headers = {};
  const query = new URLSearchParams();
  for (const [{ name, in: place }, { value }] of inputs) {
    if (place === "path") {
      const isPath = path.endsWith(`/files/{${name}}`);
      const encoded = value.split(isPath ? "/" : "\0").map(encodeURIComponent).join("/");
      path = path.replace(`{${name}}`, encoded);
    } else if (value !== "" && place === "query") {
      query.set(name, value);
    } else if (value !== "") {
      headers[name] = value;
    }
  }
  const token = login.elements.token.value.trim();
  if (token !== "") headers.Authorization = `Bearer ${token}`;
  let sent;
  if (body?.files) {
    const [file] = body.files;
    sent = file;
    if (content["multipart/form-data"]) {
      sent = new FormData();
      if (file) sent.set("file", file);
    }
  } else if (body) {
    headers["Content-Type"] = "application/json";
    sent = body.value;
  }
  const search = query.size > 0 ? `?${query}` : "";
  const answer = await fetch(`${base}${path}${search}`, { method: method.toUpperCase(), headers, body: sent });
  const lines = [`${answer.status} ${answer.statusText}`];
  for (const name of ["content-type", "etag", "location", "retry-after"]) {
    if (answer.headers.has(name)) lines.push(`${name}: ${answer.headers.get(name)}`);
  }
  const type = answer.headers.get("content-type") ?? "";
  if (answer.headers.has("content-disposition")) {
    lines.push("", `(a file of ${(await answer.blob()).size} bytes)`);
  } else if (type.includes("json")) {
    lines.push("", JSON.stringify(await answer.json(), null, 2));
  }
  return lines.join("\n");
}

async function show() {
  const list = document.getElementById("operations");
  const answer = await fetch(`${base}/openapi.json`);
  const { paths } = await answer.json();
  const tags = new Map();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, about] of Object.entries(methods)) {
      const [tag] = about.tags;
      if (!tags.has(tag)) tags.set(tag, []);
      tags.get(tag).push(operation(method, path, about));
    }
  }
  list.replaceChildren();
  for (const [tag, operations] of tags) {
    list.append(element("h2", tag.replace("_", " ")), ...operations);
  }
}

show();
