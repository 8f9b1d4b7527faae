export { PendingScreen as RunsScreen } from '../pending/PendingScreen.js'
