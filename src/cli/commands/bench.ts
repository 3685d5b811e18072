// The command that measures decisions.

import type { BenchFlags } from '../bench/run-bench.ts'
import type { CliCommand } from './cli-command.ts'
import { withTarget } from './options.ts'

/** Adds `bench`. */
export function addBenchCommand(command: CliCommand): void {
  withTarget(command.command('bench'))
    .description(
      'measure the latency of decisions, in process or over HTTP, in a closed loop or at a fixed rate; exit code 1: an answer was wrong or an error',
    )
    .examples(
      'bench --generated --seed 7',
      'bench --generated --http --rate 2000 --html bench.html',
      'bench --data /var/lib/verdigraph --questions questions.ndjson',
      'bench --generated --compare openfga=/usr/local/bin/openfga --json',
    )
    .records('no record: it asks decisions as `check` does; the data folder of a generated graph is removed')
    .option(
      '--questions <file>',
      'questions as NDJSON: subject, action, resource, and perhaps context and expected (true or false)',
    )
    .option('--world <file>', 'a scenario file: its graph, its policies, and its expected decisions as questions')
    .option('--generated', 'a generated graph with its own policies and questions', false)
    .option('--nodes <count>', 'with --generated: nodes of the graph, 100 to 10000000', '10000')
    .option(
      '--actions <names>',
      'with --generated: open (one relationship), read (two), clear (a comparison of properties)',
      'open,read',
    )
    .option('--http', 'with --generated: serve the graph, and ask over HTTP', false)
    .option('--connections <count>', 'over HTTP: connections, each with one question at a time, 1 to 1000', '8')
    .option('--rate <number>', 'questions per second; latencies begin when a question is due (default: closed loop)')
    .option('--duration <seconds>', 'the part that is measured', '10')
    .option('--warm-up <seconds>', 'the part before it', '2')
    .option('--seed <number>', 'of the generated graph (default: random, and printed)')
    .option(
      '--compare <peers>',
      'with --generated: other systems, as openfga=FILE,cerbos=FILE,neo4j=URL; they are asked the same questions. NEO4J_USERNAME and NEO4J_PASSWORD of the environment open Neo4j, whose database must be empty',
    )
    .option('--html <file>', 'write the report as a page with plots')
    .option('--json', 'print one line of JSON', false)
    .action(async (flags: BenchFlags) => {
      await (await import('../bench/run-bench.ts')).bench(flags)
    })
}
