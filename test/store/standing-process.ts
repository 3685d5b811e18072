// Stands for a task in the folder it is given, and says when it is elected; goes on until it is killed.
import { Elections } from '../../src/store/elections.ts'

new Elections(process.argv[2]!).stand('provisioning', () => process.stdout.write('elected\n'))
process.stdout.write('stands\n')
setInterval(() => {}, 1000)
