import { expect, it } from 'vitest'
import { ownName, type StartedAs } from '../../../../src/cli/settings/own-command.ts'

const from = (change: Partial<StartedAs>): string =>
  ownName({ binary: false, argv0: 'bun', environment: {}, which: () => null, ...change })

it.each([
  ['the binary by its path', { binary: true, argv0: './verdigraph' }, './verdigraph'],
  ['the binary by its name', { binary: true, argv0: 'vg', environment: { npm_command: 'run-script' } }, 'vg'],
  ['npm start', { environment: { npm_lifecycle_event: 'start', _VERDIGRAPH_STARTED_AS: '/a/x.sh' } }, 'npx verdigraph'],
  ['npx', { environment: { npm_command: 'exec', _VERDIGRAPH_STARTED_AS: '/a/x.sh' } }, 'npx verdigraph'],
  ['the script by its path', { environment: { _VERDIGRAPH_STARTED_AS: 'src/cli/x.sh' } }, 'src/cli/x.sh'],
  [
    'the script by its name',
    { environment: { _VERDIGRAPH_STARTED_AS: '/usr/bin/verdigraph' }, which: (): string => '/usr/bin/verdigraph' },
    'verdigraph',
  ],
  [
    'the script by its path, where the name is another program',
    { environment: { _VERDIGRAPH_STARTED_AS: '/opt/verdigraph' }, which: (): string => '/usr/bin/verdigraph' },
    '/opt/verdigraph',
  ],
  ['the source', {}, 'npx verdigraph'],
] as const)('the program names itself as its user does: %s', (_, started, name) => {
  expect(from(started)).toBe(name)
})
