// Campaigns for a task in the given folder and prints a line when it is elected; runs until it is killed.
import { LeaderElection } from '../../../src/store/process/leader-election.ts'

new LeaderElection(process.argv[2]!).campaign('provisioning', () => process.stdout.write('elected\n'))
process.stdout.write('stands\n')
setInterval(() => {}, 1000)
