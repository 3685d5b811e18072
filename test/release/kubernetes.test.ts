// The Helm chart of deploy/kubernetes: linted, rendered with several values, and each object checked against the schemas of Kubernetes.
// TEST_HELM and TEST_KUBERNETES_VALIDATE may name the programs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { environmentNameOf, settingSpecs } from '../../src/settings.ts'
import { run, succeed, top } from '../support/release.ts'

const chart = join(top, 'deploy', 'kubernetes', 'verdigraph')
const helm = process.env.TEST_HELM ?? Bun.which('helm')
const validate = process.env.TEST_KUBERNETES_VALIDATE ?? Bun.which('kubernetes-validate')
/** The oldest and the newest version that is checked. */
const kubernetesVersions = ['1.25.0', '1.36.0']

// biome-ignore lint/suspicious/noExplicitAny: members of objects of many kinds
type Rendered = any

describe.skipIf(helm === null)('the chart', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'verdigraph-chart-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const template = (values: object, version = '1.31.0') => {
    const file = join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    return run([helm as string, 'template', 'authz', chart, '--kube-version', version, '--values', file])
  }
  async function objectsOf(values: object): Promise<ReadonlyMap<string, Rendered>> {
    const { exitCode, stdout, stderr } = await template(values)
    expect([exitCode, stderr]).toEqual([0, ''])
    const documents = parseAllDocuments(stdout).map((document) => document.toJS() as Rendered)
    return new Map(documents.filter((one) => one !== null).map((one) => [one.kind, one]))
  }

  const everything = {
    settings: {
      workers: 4,
      body_bytes_max: 8_388_608,
      log_level: 'error',
      access_log: true,
      tls_certificate: '/tls/tls.crt',
    },
    masterKeySecret: 'authz-key',
    image: { repository: 'registry.example.org/verdigraph', digest: `sha256:${'a'.repeat(64)}` },
    networkPolicy: { from: [{ namespaceSelector: {} }], egress: [{ to: [{ ipBlock: { cidr: '203.0.113.0/24' } }] }] },
    metricsToken: { secret: 'authz-metrics' },
    serviceMonitor: { enabled: true },
    storage: { size: '1Gi', className: 'local' },
    podAnnotations: { 'example.org/team': 'iam' },
    volumes: [{ name: 'tls', secret: { secretName: 'authz-tls' } }],
    volumeMounts: [{ name: 'tls', mountPath: '/tls', readOnly: true }],
  }

  test('passes the linter', async () => {
    const output = await succeed([helm as string, 'lint', '--strict', '--quiet', chart])
    expect(output).not.toMatch(/\[(ERROR|WARNING)\]/)
  })

  test.skipIf(validate === null).each(kubernetesVersions)(
    'agrees with the schemas of Kubernetes %s',
    async (version) => {
      for (const values of [{}, everything]) {
        const file = join(folder, 'rendered.yaml')
        const check = async (text: string) => {
          writeFileSync(file, text)
          const { exitCode, stdout, stderr } = await run([validate as string, '--strict', '-k', version, file])
          return { exitCode, output: stdout + stderr }
        }
        const { stdout } = await template(values, version)
        const { exitCode, output } = await check(stdout)
        expect([exitCode, output.match(/passed/g)?.length]).toEqual([0, 4])
        // The check can fail.
        expect((await check(stdout.replace('replicas: 1', 'replicas: one'))).exitCode).toBe(1)
      }
    },
  )

  test('has one replica with a volume, probes, and no privileges', async () => {
    const objects = await objectsOf({})
    expect([...objects.keys()].sort()).toEqual(['NetworkPolicy', 'PodDisruptionBudget', 'Service', 'StatefulSet'])
    const { replicas, template: pod, volumeClaimTemplates } = objects.get('StatefulSet').spec
    expect([replicas, volumeClaimTemplates.length, pod.spec.automountServiceAccountToken]).toEqual([1, 1, false])
    expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    const [container] = pod.spec.containers
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(
      [container.startupProbe, container.readinessProbe, container.livenessProbe].map(({ httpGet }) => httpGet),
    ).toEqual([
      { path: '/ready', port: 'http', scheme: 'HTTP' },
      { path: '/ready', port: 'http', scheme: 'HTTP' },
      { path: '/health', port: 'http', scheme: 'HTTP' },
    ])
    // The user, the folder and the port are those of the image.
    const image = readFileSync(join(top, 'deploy', 'container', 'Containerfile'), 'utf8')
    expect(image).toContain(`USER ${pod.spec.securityContext.runAsUser}:${pod.spec.securityContext.runAsGroup}\n`)
    expect(image).toContain(`VOLUME ${container.volumeMounts[0].mountPath}\n`)
    expect(image).toContain(`EXPOSE ${container.ports[0].containerPort}\n`)
    const labels = pod.metadata.labels
    for (const selector of [
      objects.get('Service').spec.selector,
      objects.get('NetworkPolicy').spec.podSelector.matchLabels,
      objects.get('PodDisruptionBudget').spec.selector.matchLabels,
    ])
      expect(labels).toMatchObject(selector)
  })

  test('passes settings, secrets, peers and the digest on', async () => {
    const objects = await objectsOf(everything)
    const pod = objects.get('StatefulSet').spec.template.spec
    const [container] = pod.containers
    const names = new Set<string>(Object.values(settingSpecs).map(environmentNameOf))
    const variables = Object.fromEntries(container.env.map(({ name, value }: Rendered) => [name, value]))
    expect(variables).toEqual({
      VERDIGRAPH_WORKERS: '4',
      VERDIGRAPH_BODY_BYTES_MAX: '8388608',
      VERDIGRAPH_LOG_LEVEL: 'error',
      // YAML 1.1 reads `on` as true.
      VERDIGRAPH_ACCESS_LOG: 'on',
      VERDIGRAPH_TLS_CERTIFICATE: '/tls/tls.crt',
      VERDIGRAPH_METRICS_TOKEN_FILE: '/run/secrets/verdigraph-metrics/tokens',
      CREDENTIALS_DIRECTORY: '/run/credentials/verdigraph',
    })
    expect(Object.keys(variables).filter((name) => name !== 'CREDENTIALS_DIRECTORY' && !names.has(name))).toEqual([])
    expect(container.image).toBe(`registry.example.org/verdigraph@sha256:${'a'.repeat(64)}`)
    expect(container.readinessProbe.httpGet.scheme).toBe('HTTPS')
    const items = [{ key: 'tokens', path: 'tokens' }]
    expect(pod.volumes).toEqual([
      { name: 'credentials', secret: { secretName: 'authz-key', defaultMode: 0o440 } },
      { name: 'metrics-token', secret: { secretName: 'authz-metrics', defaultMode: 0o440, items } },
      { name: 'tls', secret: { secretName: 'authz-tls' } },
    ])
    expect(container.volumeMounts.at(-1)).toEqual({ name: 'tls', mountPath: '/tls', readOnly: true })
    // No `subPath`: such a file does not change with the secret.
    expect(container.volumeMounts.find(({ name }: Rendered) => name === 'metrics-token')).toEqual({
      name: 'metrics-token',
      mountPath: '/run/secrets/verdigraph-metrics',
      readOnly: true,
    })
    expect(objects.get('NetworkPolicy').spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] })
    expect(objects.get('ServiceMonitor').spec.endpoints).toEqual([
      {
        port: 'http',
        path: '/metrics',
        interval: '30s',
        scheme: 'https',
        authorization: { credentials: { name: 'authz-metrics', key: 'token' } },
      },
    ])
  })

  test('the ServiceMonitor sends the token of the mounted secret, of another secret, or none', async () => {
    const authorizationOf = async (values: object) => {
      const objects = await objectsOf(values)
      return objects.get('ServiceMonitor').spec.endpoints[0].authorization
    }
    const secret = (name: string, key: string) => ({ credentials: { name, key } })
    const metricsToken = { secret: 'own', fileKey: 'both', key: 'newest' }
    expect(await authorizationOf({ metricsToken, serviceMonitor: { enabled: true } })).toEqual(secret('own', 'newest'))
    const other = { enabled: true, tokenSecret: { name: 'other' } }
    expect(await authorizationOf({ metricsToken, serviceMonitor: other })).toEqual(secret('other', 'token'))
    expect(await authorizationOf({ serviceMonitor: other })).toEqual(secret('other', 'token'))
    expect(await authorizationOf({ serviceMonitor: { enabled: true } })).toBeUndefined()
    const pod = (await objectsOf({ metricsToken })).get('StatefulSet').spec.template.spec
    expect(pod.volumes.map(({ secret }: Rendered) => secret.items)).toEqual([[{ key: 'both', path: 'tokens' }]])
  })

  test.each([
    [{ replicas: 2 }, 'replicas'],
    [{ metricsToken: { secret: 'a', key: '' } }, 'key'],
    [{ metricsToken: { secret: 'a' }, settings: { metrics_token_file: '/b' } }, 'remove metrics_token'],
    [{ image: { digest: 'latest' } }, 'digest'],
    [{ settings: { data: '/elsewhere' } }, "propertyName 'data'"],
    [{ settings: { otlp_endpoint: 'http://collector:4318' } }, "propertyName 'otlp_endpoint'"],
    [{ volumes: [{ name: 'data', emptyDir: {} }] }, 'volumes'],
    [{ service: { port: 0 } }, 'port'],
  ])('refuses %j', async (values, named) => {
    const { exitCode, stderr } = await template(values)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(named)])
  })
})

test('the chart has the version of the program', () => {
  const { version, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))
  const { version: own } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  expect([version, appVersion]).toEqual([own, own])
})
