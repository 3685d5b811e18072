// The server's identity in both protocol versions: name, capabilities, and instructions for the model.
import type { RpcObject } from './json-rpc.ts'

/** Both versions notify about changes of the resource list. The list of tools never changes. */
export const capabilities = { tools: {}, resources: { listChanged: true }, completions: {} } as const

/** The server info as the two protocol versions send it. */
export interface ServerInfo {
  /** The member `serverInfo` of the result of `initialize`. */
  readonly info: RpcObject
  /** The member `_meta` of every stateless result. */
  readonly meta: RpcObject
  /** `meta` as JSON text. */
  readonly metaJson: string
}

/** Creates the server info. `version`: version of the product. */
export function createServerInfo(version: string): ServerInfo {
  const info = {
    name: 'verdigraph',
    title: 'Verdigraph',
    version,
    description: 'Authorization decisions and context queries over a graph, for the holder of the token.',
  }
  const meta = { 'io.modelcontextprotocol/serverInfo': info }
  return { info, meta, metaJson: JSON.stringify(meta) }
}

/** Instructions for the model. */
export const instructions = [
  'You act for the person whose bearer token you send: that person is the subject of the token.',
  'To read or change data, first read the resource svc://knowledge-queries/ : it lists the knowledge queries with their',
  'descriptions and parameters; then call ciq_execute with the id or name of one and its input_params.',
  'To find out what is allowed, call authzen_evaluate (one evaluation), authzen_evaluations (many), or one of the searches.',
  'A denial is a result (`decision: false`), not an error; the text of an error names what to change.',
].join(' ')
