export { PendingScreen as RunScreen } from '../pending/PendingScreen.js'
