// The bare server that ours is measured against: parses the same JSON body and answers the bytes it was started with.
const { headers, body } = JSON.parse(process.argv[2] as string) as { headers: Record<string, string>; body: string }

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const asked = (await request.json()) as { subject?: unknown }
    return new Response(asked.subject === undefined ? '' : body, { headers })
  },
})
console.log(`listening on http://127.0.0.1:${server.port}`)
