// The interface reference: every operation of the OpenAPI document with its parameters, bodies, answers and a curl command.
import {
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
  type ResponseObject,
  resolveResponse,
} from '../openapi/objects.ts'
import { curlCommand } from './curl.ts'
import { type Html, html, inline, prose } from './markup.ts'
import { schemaRows } from './schema-rows.ts'

interface OperationEntry {
  readonly method: string
  readonly path: string
  readonly operation: OperationObject
}

/** The rendered interface reference. */
export interface ApiPage {
  readonly content: Html
  /** Links to the operations, by tag. */
  readonly navigation: Html
}

/** Renders the reference of all operations, in the order of the tags. */
export function renderApiPage(description: OpenApiDocument): ApiPage {
  const entries = Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]): OperationEntry => ({ method: method.toUpperCase(), path, operation }),
    ),
  )
  const chapters = description.tags.map((tag) => ({
    tag,
    entries: entries.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const { summary, description: introduction } = description.info
  const navigation = html`${chapters.map(
    ({ tag, entries: own }) => html`<details><summary>${tag.name}</summary>
${own.map((entry) => html`<a href="/docs/api#${entry.operation.operationId}">${badge(entry.method)}<span>${entry.operation.summary}</span></a>`)}</details>`,
  )}`
  const content = html`<h1>HTTP API</h1>
<p class="lead">${summary}</p>
${prose(introduction)}
<p>The same as a document: <a href="/openapi.json">OpenAPI 3.1</a>, <a href="/openapi-3.2.json">OpenAPI 3.2</a>. The curl
commands read the address of the server and the credentials from the environment:</p>
<pre>export VERDIGRAPH=http://localhost:8080 KEY=… TOKEN=…</pre>
${authentication(description)}
${chapters.map(
  ({ tag, entries: own }) => html`<section class="tag" id="${anchor(tag.name)}">
<h2>${tag.name}</h2>${prose(tag.description)}
${own.map((entry) => operationPart(entry, description))}
</section>`,
)}`
  return { content, navigation }
}

function authentication({ components }: OpenApiDocument): Html {
  const schemes = Object.entries(components.securitySchemes as Record<string, Record<string, string>>)
  return html`<section class="tag" id="authentication"><h2>Authentication</h2><table>
${schemes.map(
  ([name, scheme]) =>
    html`<tr><th scope="row" id="scheme-${name}">${name}</th><td><code>${shownIn(scheme)}</code></td><td>${inline(scheme.description ?? '')}</td></tr>`,
)}</table></section>`
}

function shownIn(scheme: Readonly<Record<string, string>>): string {
  return scheme.type === 'apiKey' ? `${scheme.name}: …` : 'Authorization: Bearer …'
}

function operationPart({ method, path, operation }: OperationEntry, description: OpenApiDocument): Html {
  const { parameters, requestBody, security } = operation
  const body = requestBody?.content['application/json']
  return html`<article id="${operation.operationId}">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="line">${badge(method)}<code>${path}</code></p>
${operation.description === undefined ? null : prose(operation.description)}
<p class="who">${security.length === 0 ? 'No credentials.' : html`Credentials: ${security.map((one, i) => html`${i === 0 ? '' : ' or '}${Object.keys(one).map((name, j) => html`${j === 0 ? '' : ' and '}<a href="#scheme-${name}">${name}</a>`)}`)}.`}</p>
${parameters.length === 0 ? null : html`<h4>Parameters</h4><table>${parameters.map(parameterRow)}</table>`}
${body === undefined ? null : html`<h4>Body</h4>${schemaRows(body.schema, description)}`}
<h4>curl</h4><pre>${curlCommand(method, path, operation, description)}</pre>
<h4>Answers</h4>
${Object.keys(operation.responses).map((status) => answerPart(status, resolveResponse(description, operation, status), description))}
</article>`
}

function parameterRow({ name, in: place, required, description, schema }: ParameterObject): Html {
  const values = schema.enum as readonly string[] | undefined
  return html`<tr><th scope="row"><code>${name}</code>${required ? html`<b title="required">*</b>` : null}</th><td>${place}</td><td>${inline(description ?? '')}
${values === undefined ? null : html` ${values.map((value) => html`<code>${value}</code> `)}`}</td></tr>`
}

function answerPart(status: string, answer: ResponseObject | undefined, description: OpenApiDocument): Html | null {
  if (answer === undefined) return null
  const { description: says, headers, content } = answer
  const schema = Object.values(content ?? {})[0]?.schema
  const own = Object.keys(headers).filter((name) => name !== 'X-Request-ID')
  const more =
    own.length === 0 ? null : html` <small>with ${own.map((name, i) => html`${i === 0 ? '' : ', '}${name}`)}</small>`
  const head = html`<b class="status s${status.charAt(0)}">${status}</b> ${says}${more}`
  if (Number(status) >= 300 || schema === undefined) return html`<p class="answer">${head}</p>`
  return html`<details open><summary>${head}</summary>${schemaRows(schema, description)}</details>`
}

function badge(method: string): Html {
  return html`<b class="method ${method.toLowerCase()}">${method}</b>`
}

function anchor(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}
