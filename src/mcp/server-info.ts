// How the server introduces itself, in both revisions: name, capabilities, and what a model should know before it calls.

/** Changes of the resources are told in both revisions; changes of one resource where a listener can name it. Tools stay. */
export const capabilities = { tools: {}, resources: { listChanged: true }, completions: {} } as const

export function serverInfo(version: string): Readonly<Record<string, string>> {
  return {
    name: 'verdigraph',
    title: 'Verdigraph',
    version,
    description: 'Authorization decisions and context queries over a graph, for the holder of the token.',
  }
}

export const instructions = [
  'You ask on behalf of the person whose bearer token you show: the caller’s own identity is the subject of that token.',
  'To read or change data, first read the resource svc://knowledge-queries/ : it lists the knowledge queries with their',
  'descriptions and parameters; then call ciq_execute with the id or name of one and its input_params.',
  'To find out what is allowed, call authzen_evaluate (one question), authzen_evaluations (many), or one of the searches.',
  'A denial is an answer (`decision: false`), not an error; an error says in its text what to change.',
].join(' ')
