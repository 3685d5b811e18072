// The baseline servers, chosen by the first argument. `echo` parses the same JSON body and returns constant bytes.
// `least` does what every correct server must do in addition to deciding, and nothing else: it reads key, media type,
// request id and declared length, reads the body as text (only the text shows a duplicate member), parses it, and
// responds with the identifier of this request.
const [kind, given] = process.argv.slice(2)
const { headers, body } = JSON.parse(given as string) as { headers: Record<string, string>; body: string }

async function echo(request: Request): Promise<Response> {
  const asked = (await request.json()) as { subject?: unknown }
  return new Response(asked.subject === undefined ? '' : body, { headers })
}

const { 'x-request-id': _, ...constant } = headers
let count = 0

async function least(request: Request): Promise<Response> {
  const key = request.headers.get('x-svc-clientkey')
  const type = request.headers.get('content-type')
  const length = Number(request.headers.get('content-length'))
  count += 1
  const id = request.headers.get('x-request-id') ?? `bare-${count.toString(36)}`
  const asked = JSON.parse(await request.text()) as { subject?: unknown }
  const refused = asked.subject === undefined || key === null || type !== 'application/json' || length > 1_000_000
  return new Response(refused ? '' : body, { headers: { ...constant, 'x-request-id': id } })
}

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: kind === 'echo' ? echo : least })
console.log(`listening on http://127.0.0.1:${server.port}`)
