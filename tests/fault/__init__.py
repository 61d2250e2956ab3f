"""What happens when processes are killed, disks are full and files change under readers."""
