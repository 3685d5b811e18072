// `npm start`: the printed requests return the printed answers, and the demo grants what the tables of
// docs/reference/demo.md state.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import nodes from '../../data/demo/nodes.json' with { type: 'json' }
import { ownEnvironment, patientEnvironment } from '../support/cli-process.ts'

const top = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-readme-'))
const children: Bun.Subprocess[] = []

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map((child) => child.exited))
  rmSync(folder, { recursive: true, force: true })
})

interface ServedReadme {
  readonly child: Bun.Subprocess
  readonly printed: string
}

/** Starts `serve --demo` and returns its output up to the last request. */
async function serveDemo(dataDir: string): Promise<ServedReadme> {
  const child = Bun.spawn([process.execPath, 'src/main.ts', 'serve', '--demo', '--data', dataDir, '--port', '0'], {
    cwd: top,
    env: { ...ownEnvironment, ...patientEnvironment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  const decoder = new TextDecoder()
  let printed = ''
  for await (const bytes of child.stdout) {
    printed += decoder.decode(bytes, { stream: true })
    if (/claude mcp add .*\n/.test(printed)) return { child, printed }
  }
  throw new Error(`serve --demo ended: ${printed}`)
}

async function shell(script: string, env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(['bash', '-c', script], {
    cwd: folder,
    env: { ...ownEnvironment, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
  })
  return await child.stdout.text()
}

interface Pasted {
  readonly curl: string
  readonly promised: string
}

/** The printed requests of a start, each after the printed `export` lines and with its expected answer. */
function pasted(printed: string): Pasted[] {
  const lines = printed.split('\n').map((line) => line.trim())
  const exports = lines.filter((line) => /^export (URL|KEY)=/.test(line))
  return lines.flatMap((curl, at) =>
    curl.startsWith('curl ')
      ? [{ curl: [...exports, curl].join('\n'), promised: (lines[at + 1] as string).replace(/^answers +/, '') }]
      : [],
  )
}

/** The printed value of `export NAME=…`. */
function exported(printed: string, name: string): string {
  return new RegExp(`^ {2}export ${name}=(.*)$`, 'm').exec(printed)?.[1] as string
}

describe('npm start', () => {
  const dataDir = join(folder, 'demo')
  let served: ServedReadme

  beforeAll(async () => {
    served = await serveDemo(dataDir)
  })

  test('prints a permit, a denial and a search, and each has the printed answer', async () => {
    const lines = pasted(served.printed)
    expect(lines.map(({ promised }) => promised.slice(0, 17))).toEqual([
      '{"decision":true}',
      '{"decision":false',
      '{"results":[{"typ',
      '"relationships":[',
    ])
    for (const { curl, promised } of lines) expect(await shell(curl), curl).toBe(`${promised}\n`)
  })

  test('prints address, key and requests first, the key once, and no token', () => {
    const lines = served.printed.split('\n')
    expect(lines[0]).toBe(`listening on ${exported(served.printed, 'URL')}`)
    const exportsAt = lines.findIndex((line) => line.startsWith('  export '))
    expect(exportsAt).toBeLessThan(10)
    expect(lines.slice(exportsAt, exportsAt + 2).map((line) => line.split('=')[0])).toEqual([
      '  export URL',
      '  export KEY',
    ])
    expect(served.printed.split(exported(served.printed, 'KEY'))).toHaveLength(2)
    expect(served.printed).not.toMatch(/eyJ/)
  })

  test('prints commands that work as printed, and names only what its user has', async () => {
    const [, command] = /`(.* token --data .*)` prints a token of the administrator/.exec(served.printed) ?? []
    const token = /token +(\S+)/.exec(await shell(`cd '${top}'\n${command}`))?.[1]
    const authorization = { authorization: `Bearer ${token}` }
    const url = exported(served.printed, 'URL')
    const read = await fetch(`${url}/configs/v1/projects/${exported(served.printed, 'PROJECT')}`, {
      headers: authorization,
    })
    expect(read.status).toBe(200)
    const pages = [...served.printed.matchAll(/http:\S+\/docs\S*/g)].map(([page]) => page)
    expect(pages).toHaveLength(2)
    for (const page of pages) expect((await fetch(page)).status, page).toBe(200)
    expect(served.printed).not.toMatch(/\.md\b|npm |\bbun\b|src\/main/)
  })

  test('prints how to connect an agent: the token of a person, and a client for that person', async () => {
    const lines = served.printed.split('\n').map((line) => line.trim())
    const [token] = lines.filter((line) => line.startsWith('export TOKEN=')) as [string]
    const url = `${exported(served.printed, 'URL')}/mcp/v1/${exported(served.printed, 'PROJECT')}`
    const call = `--method tools/call --tool-name ciq_execute --tool-args-json '{"id":"my-cars-that-pull","input_params":{"load_kg":1800}}'`
    const inspector = `npx @modelcontextprotocol/inspector --cli ${url} --transport http --header "Authorization: Bearer $TOKEN" ${call}`
    const dara = await shell(`cd '${top}'\n${token}\n${inspector} 2> /dev/null`)
    expect(JSON.parse(dara).structuredContent.data).toEqual([
      {
        nodes: {
          'car.external_id': 'bramble',
          'car.property.towing_kg': 2000,
          'garage.property.name': 'Station Yard',
        },
      },
    ])
    const gus = await shell(
      `cd '${top}' && '${process.execPath}' src/main.ts demo-token --data '${dataDir}' --person gus`,
    )
    const opened = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${gus.trim()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }),
    })
    expect([opened.status, opened.headers.has('mcp-session-id')]).toEqual([200, true])
    expect(
      lines.some((line) => /^claude mcp add --transport http \w+ "http:\S+\/mcp\/v1\/\$PROJECT" --header /.test(line)),
    ).toBe(true)
  })

  describe('the demo data match every cell of docs/reference/demo.md', () => {
    const tables = readFileSync(join(top, 'docs', 'reference', 'demo.md'), 'utf8').split(
      '## Who may do what',
    )[1] as string
    const rows = tables.split('\n').filter((line) => /^\| *[A-Za-z]/.test(line))
    const cells = (row: string): string[] =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim())

    const ask = async (path: string, body: object): Promise<unknown> => {
      const headers = { 'X-SVC-ClientKey': exported(served.printed, 'KEY'), 'Content-Type': 'application/json' }
      const response = await fetch(`${exported(served.printed, 'URL')}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      expect(response.status, `${path} ${JSON.stringify(body)}`).toBe(200)
      return await response.json()
    }

    let heading: string[] = []
    const promises = rows.flatMap((row) => {
      const [person, ...granted] = cells(row)
      if (person === 'Person') {
        heading = granted
        return []
      }
      return granted.map((cell, at) => {
        const [, action, type, name, value] = /^(\w+) (\w+)(?:, `(\w+)` (\d+))?$/.exec(
          heading[at] as string,
        ) as string[]
        const ids = cell === '–' ? [] : cell.split(', ')
        const context = name === undefined ? {} : { context: { input_params: { [name]: Number(value) } } }
        return { person: person as string, action: action as string, type: type as string, ids, context }
      })
    })

    test('the tables name every person and every action of a person', () => {
      expect(promises).toHaveLength(14 * 8)
    })

    for (const { person, action, type, ids, context } of promises) {
      test(`${person} may ${action} ${ids.length === 0 ? 'nothing' : ids.join(', ')}`, async () => {
        const subject = { type: 'Person', id: person }
        const found = await ask('/access/v1/search/resource', {
          subject,
          action: { name: action },
          resource: { type },
          ...context,
        })
        expect(found).toEqual({ results: ids.map((id) => ({ type, id })) })
        for (const { external_id: id } of nodes.nodes.filter((node) => node.type === type)) {
          const resource = { type, id }
          const answer = await ask('/access/v1/evaluation', { subject, action: { name: action }, resource, ...context })
          expect(answer, id).toEqual({ decision: ids.includes(id) })
        }
      })
    }
  })

  test('a later start prints a key that works, and keeps changes made in the meantime', async () => {
    const stronger = {
      nodes: [{ type: 'Car', external_id: 'bramble', properties: [{ type: 'towing_kg', value: 2500 }] }],
    }
    const captured = await fetch(`${exported(served.printed, 'URL')}/capture/v1/nodes`, {
      method: 'POST',
      headers: { 'X-SVC-ClientKey': exported(served.printed, 'KEY'), 'Content-Type': 'application/json' },
      body: JSON.stringify(stronger),
    })
    expect(captured.status).toBe(200)
    served.child.kill('SIGTERM')
    expect(await served.child.exited).toBe(0)

    served = await serveDemo(dataDir)
    const [permit, wasDenial] = pasted(served.printed) as [Pasted, Pasted]
    expect(await shell(permit.curl)).toBe('{"decision":true}\n')
    expect(await shell(wasDenial.curl)).toBe('{"decision":true}\n')
  })
})
