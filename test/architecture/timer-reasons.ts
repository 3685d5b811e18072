// The files that may have repeated timers, with the reason. A part that waits for commits subscribes to the one waiter of its process
// (src/kernel/folder/commit-signal.ts) instead: each timer of its own would wake an idle process.

/** Each file once. */
export const timerReasons: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  { why: 'it is the waiter', files: ['src/store/process/commit-waiter.ts'] },
  {
    why: 'it repeats what has failed, after a delay',
    files: [
      'src/audit/seal/audit-trail.ts',
      'src/bolt/projects/remote-graph-access.ts',
      'src/audit/customer-keys/service-call.ts',
      'src/backup/places/s3-requests.ts',
      'src/bolt/bolt-server.ts',
      'src/cli/audit/audit-log-source.ts',
      'src/cli/serve/supervise.ts',
      'src/cli/ask/tail.ts',
      'src/client/transport.ts',
      'src/events/delivery/stream-delivery.ts',
      'src/lanes/lane-pool.ts',
    ],
  },
  {
    why: 'a database server reports no commits',
    files: ['src/config/shared/shared-configuration.ts', 'src/bolt/configuration-store.ts', 'src/bolt/remote-graph.ts'],
  },
  {
    why: 'the system does not report that a file lock was released',
    files: ['src/backup/backups.ts', 'src/store/lmdb/consistent-cut.ts', 'src/store/lmdb/open-lock.ts'],
  },
  {
    why: 'it works in slices, and requests run between them; it ends with its work',
    files: [
      'src/streams/turns.ts',
      'src/policy/background-compiler.ts',
      'src/store/graph/symbol-loader.ts',
      'src/streams/watch-hub.ts',
    ],
  },
  {
    why: 'it writes together what comes within some time, and has no timer while nothing comes',
    files: [
      'src/events/activity-log.ts',
      'src/events/delivery/delivery-log.ts',
      'src/events/delivery/delivery-progress.ts',
      'src/events/delivery/status-book.ts',
      'src/events/providers/queue-service.ts',
      'src/events/repeated-events.ts',
      'src/ops/log-file.ts',
    ],
  },
  {
    why: 'it has a timer only while a client sends a body, or reads a stream',
    files: [
      'src/client/server-events.ts',
      'src/http/body-timeout.ts',
      'src/mcp/subscriptions.ts',
      'src/streams/decision-streams.ts',
    ],
  },
  { why: 'it sweeps each hour, and compiles in slices after the start', files: ['src/background/background-jobs.ts'] },
  { why: 'it ships at the interval of a setting, and is off by default', files: ['src/backup/shipping/shipper.ts'] },
  {
    why: 'it watches a process: each 5 s, or at the interval of the service manager',
    files: [
      'src/cli/serve/service-manager.ts',
      'src/processes/child-process.ts',
      'src/processes/run-child.ts',
      'src/processes/supervised.ts',
    ],
  },
  {
    why: 'a stop waits for connections',
    files: ['src/http/listener/http-listener.ts', 'src/http/server.ts'],
  },
  { why: 'the system does not report a file behind a replaced symbolic link', files: ['src/ops/certificate.ts'] },
  {
    why: 'it is a command that follows a service, files or a program',
    files: [
      'src/cli/bench/generated-service.ts',
      'src/cli/bench/load.ts',
      'src/cli/bench/started-program.ts',
      'src/cli/demo/demo.ts',
      'src/cli/work/events.ts',
      'src/cli/work/match.ts',
      'src/cli/output/progress.ts',
      'src/cli/serve/restart.ts',
      'src/cli/work/trust.ts',
      'src/cli/policies/watch-scenarios.ts',
    ],
  },
]
