"""Build the image, and stand-ins for the images of others, where no registry can be reached."""
